"""Airflow with plain operators: fold every five minutes, look after the ledgers, optimize once a day.

Needs apache-airflow, and on the worker a dbt project with the package `collapsing`. DBT_PROJECT_DIR is its folder, which
also has limits.py of scheduling.md. The pool is created once: `airflow pools set shop_dbt 1 "one dbt command at a time"`.
"""

from __future__ import annotations

import datetime as dt
import os

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

PROJECT = os.environ.get("DBT_PROJECT_DIR", "/srv/shop")
DBT = f"cd {PROJECT} && dbt --no-use-colors"
LEDGERS = "config.materialized:incremental_ledger"
ALL = f"{LEDGERS} config.materialized:incremental_projection"

# A model that fails or is killed leaves its table as it was, or with the whole batch, so that trying again is safe.
# The pool has one slot, so that the tasks of both DAGs take turns: on Delta and Iceberg whichever commits second is refused.
DEFAULTS = {
    "pool": "shop_dbt",
    "retries": 3,
    "retry_delay": dt.timedelta(minutes=1),
    "retry_exponential_backoff": True,
}

with DAG(
    "shop_fold",
    schedule="*/5 * * * *",
    start_date=dt.datetime(2026, 1, 1),
    catchup=False,  # a run folds all that is unread, whenever it runs
    max_active_runs=1,
    default_args=DEFAULTS,
) as fold:
    run = BashOperator(
        task_id="run",
        bash_command=f"{DBT} run --select {LEDGERS}+",
        # several times as long as the longest run: it kills dbt, and the next run goes on
        execution_timeout=dt.timedelta(hours=2),
    )
    # fails where a figure is above its limit: Airflow's own alerts on failure tell of ledgers that are late
    status = BashOperator(
        task_id="status",
        bash_command=f"{DBT} --quiet run-operation collapsing.status --args '{{format: json}}' | python limits.py",
        retries=0,
        trigger_rule="all_done",
    )
    run >> status

with DAG(
    "shop_optimize",
    schedule="32 3 * * *",  # not at a minute at which a fold begins
    start_date=dt.datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args=DEFAULTS,
) as optimize:
    # both go before the folds that wait for the pool's slot
    BashOperator(
        task_id="optimize",
        # what is compacted cannot be undone batch by batch: a day of folds is left for that
        bash_command=f"{DBT} run-operation collapsing.optimize --args '{{keep_batches: 288}}'",
        priority_weight=10,
    )
    BashOperator(
        task_id="tests",
        bash_command=f"{DBT} test --select {ALL}",
        priority_weight=10,
    )
