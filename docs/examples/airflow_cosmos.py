"""Airflow with Cosmos: a task for each model, so that a projection that fails is tried again by itself.

Needs astronomer-cosmos, and a dbt project whose target is a server (Thrift or Spark Connect): with Spark inside of dbt each
task would start it anew. DBT_PROJECT_DIR is the project's folder, parsed before (`dbt parse`), with limits.py of
scheduling.md in it.
"""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from cosmos import DbtTaskGroup, ExecutionConfig, LoadMode, ProfileConfig, ProjectConfig, RenderConfig, TestBehavior

PROJECT = Path(os.environ.get("DBT_PROJECT_DIR", "/srv/shop"))

with DAG(
    "shop_by_model",
    schedule="*/15 * * * *",
    start_date=dt.datetime(2026, 1, 1),
    catchup=False,
    # Two runs of one ledger would meet, and one be refused. Let the DAG of an optimize share a pool with these tasks.
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": dt.timedelta(minutes=1)},
) as dag:
    models = DbtTaskGroup(
        group_id="models",
        project_config=ProjectConfig(PROJECT, manifest_path=PROJECT / "target" / "manifest.json"),
        profile_config=ProfileConfig(profile_name="shop", target_name="server", profiles_yml_filepath=PROJECT / "profiles.yml"),
        execution_config=ExecutionConfig(dbt_executable_path="dbt"),
        render_config=RenderConfig(
            load_method=LoadMode.DBT_MANIFEST,
            select=["config.materialized:incremental_ledger+"],
            test_behavior=TestBehavior.NONE,  # the tests of ledgers read all of them: once a day is enough
        ),
        operator_args={"install_deps": False},
    )
    status = BashOperator(
        task_id="status",
        bash_command=f"cd {PROJECT} && dbt --quiet run-operation collapsing.status --args '{{format: json}}' | python limits.py",
        retries=0,
        trigger_rule="all_done",
    )
    models >> status
