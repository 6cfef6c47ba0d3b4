"""Dagster: ledgers and projections as assets, a schedule of five minutes, and a check with limits.

Needs dagster and dagster-dbt, and a dbt project with the package `collapsing`. DBT_PROJECT_DIR is its folder, parsed before
(`dbt parse`). Run it with `dagster dev -f dagster_assets.py`.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_dbt import DbtCliResource, DbtProject, dbt_assets

PROJECT = DbtProject(project_dir=Path(os.environ.get("DBT_PROJECT_DIR", "/srv/shop")))
LEDGERS = "config.materialized:incremental_ledger"
LIMITS = {"unread_blocks": 20, "lag_batches": 5}


# A run that meets another one on a ledger is refused and has changed nothing: trying again is safe, after a kill too.
@dbt_assets(
    manifest=PROJECT.manifest_path,
    select=f"{LEDGERS}+",
    retry_policy=dg.RetryPolicy(max_retries=3, delay=60, backoff=dg.Backoff.EXPONENTIAL),
)
def ledgers(context: dg.AssetExecutionContext, dbt: DbtCliResource) -> Iterator[Any]:
    """Fold what is unread, and bring projections and what reads them up to date."""
    yield from dbt.cli(["run"], context=context).stream()


@dg.op(ins={"after": dg.In(dg.Nothing)})
def status(context: dg.OpExecutionContext) -> None:
    """Fail where a figure is above its limit or a model is not built: ledgers that are late, projections that lag."""
    asked = ["dbt", "--quiet", "run-operation", "collapsing.status", "--args", '{"format": "json"}']
    said = subprocess.run(asked, cwd=PROJECT.project_dir, stdout=subprocess.PIPE, text=True, check=True).stdout
    models = json.loads(said)
    wrong = [f"{one['model']} is {one['state']}" for one in models if one["state"] != "built"]
    wrong += [
        f"{one['model']}: {name} is above its limit"
        for one in models
        for name, limit in LIMITS.items()
        if (one.get(name) or 0) > limit
    ]
    if wrong or not models:
        raise dg.Failure("; ".join(wrong) or "there is no ledger")
    context.log.info("all ledgers are within their limits")


@dg.job
def check_ledgers() -> None:
    """Look after all ledgers."""
    status()


fold = dg.define_asset_job("fold", selection=dg.AssetSelection.assets(ledgers))

definitions = dg.Definitions(
    assets=[ledgers],
    jobs=[fold, check_ledgers],
    schedules=[
        dg.ScheduleDefinition(job=fold, cron_schedule="*/5 * * * *"),
        dg.ScheduleDefinition(job=check_ledgers, cron_schedule="2-59/5 * * * *"),
    ],
    resources={"dbt": DbtCliResource(project_dir=PROJECT)},
)
