"""The package under dbt-databricks, as far as it can be shown without a workspace: docs/platforms.md says how far that is.

Runs in an environment of its own, in which there is no dbt-spark beside it that the other tests were written for:
    pip install dbt-databricks==1.12.7 "dbt-core<1.12" pyspark==4.1.4 pytest
    pytest --noconftest tests/python/test_databricks.py
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator

import pytest

pytest.importorskip("databricks.sql", reason="needs dbt-databricks, in an environment of its own")

from pyspark.sql import SparkSession  # noqa: E402

from support.databricks import Recorder  # noqa: E402
from support.dbt_project import REPOSITORY, VIEW, DbtProject, given, model, write_files  # noqa: E402

DELTA = os.environ.get("COLLAPSING_DELTA", "io.delta:delta-spark_4.1_2.13:4.4.0")
SETTINGS = {
    "spark.jars.packages": DELTA,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.ansi.enabled": "true",  # as on a SQL warehouse
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
}
# The local session catalog stands for a catalog of Unity's: names have three parts.
PROFILE = """
shop:
  target: warehouse
  outputs:
    warehouse:
      {type: databricks, host: none.invalid, http_path: /sql/1.0/warehouses/none, token: x, catalog: spark_catalog, schema: shop}
"""
EVENTS = {"key": "id", "version": "version", "is_deleted": "is_deleted", "block": "block"}
COMBINE = {"combine": {"amount": "new.amount + coalesce(old.amount, 0)"}}
SUMS = {"group_by": ["shop"], "measures": {"n": "count(*)", "amount": "sum(amount)", "most": "max(amount)"}}
FILES = {
    "profiles.yml": PROFILE,
    "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\nmodel-paths: [models]\n",
    "models/stage.sql": VIEW + "select id, version, is_deleted, shop, amount, block from shop.arrived",
    "models/orders.sql": model("ledger(ref('stage'))", EVENTS | {"on_bad_rows": "reject"}),
    "models/combined.sql": model("ledger(ref('stage'))", EVENTS | COMBINE),
    "models/sums.sql": model("projection(ref('orders'))", SUMS),
    "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('orders')) }}",
    "models/groups.sql": VIEW + "select * from {{ collapsing.final(ref('sums')) }}",
    "models/tests.yml": json.dumps(
        {
            "models": [
                {"name": "orders", "data_tests": ["collapsing.collapsed", {"collapsing.complete": given(stage="ref('stage')")}]},
                {"name": "sums", "data_tests": ["collapsing.equals_recompute"]},
            ]
        }
    ),
}


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    """A SQL warehouse that is a Spark in this process."""
    folder = tmp_path_factory.mktemp("local")
    os.chdir(folder)
    builder = SparkSession.builder.master("local[1]").config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    recorder = Recorder(builder.getOrCreate())
    yield recorder
    recorder.end()


@pytest.fixture(scope="module")
def shop(recorder: Recorder, tmp_path_factory: pytest.TempPathFactory) -> DbtProject:
    """A project of type databricks, in which everything that a user does was done once."""
    folder = tmp_path_factory.mktemp("shop")
    write_files(folder, FILES | {"packages.yml": f"packages:\n  - local: {REPOSITORY}\n"})
    project = DbtProject(folder, folder, schema="shop", target=folder / "target")
    columns = "id bigint, version int, is_deleted boolean, shop string, amount decimal(20, 2), block string"
    project.sql("create schema shop")
    project.sql(f"create table shop.arrived ({columns}) using delta")
    project.run("deps")
    for rows in (
        "(1, 1, false, 'north', 10, 'b1'), (2, 1, false, 'south', 5, 'b1'), (4, 3, false, 'south', 1, 'b1')",
        "(1, 2, false, 'south', 11, 'b2'), (2, 2, true, 'south', 5, 'b2'), (3, 1, false, 'north', 7, 'b2')",
        "(3, 1, false, 'north', 7, 'b3'), (4, 2, false, 'north', 9, 'b3')",
    ):
        project.sql(f"insert into shop.arrived values {rows}")
        project.run("run")
    project.run("test")
    operations = {"status": {}, "undo": {"batch": 3}, "optimize": {}}
    for operation, more in operations.items():
        project.run("run-operation", f"collapsing.{operation}", "--args", json.dumps({"model": "orders", **more}))
    project.run("run", "--full-refresh")
    project.run("compile")
    return project


def test_the_answer_is_right(shop: DbtProject) -> None:
    rows = shop.rows("select id, version, shop, int(amount) from shop.live order by id")
    assert rows == [(1, 2, "south", 11), (3, 1, "north", 7), (4, 3, "south", 1)]
    groups = shop.rows("select shop, n, int(amount), int(most) from shop.groups order by shop")
    assert groups == [("north", 1, 7, 7), ("south", 2, 12, 11)]
    assert shop.rows(f"select int(amount) from {shop.data('shop.combined')} where ledger_sign = 1 and id = 1") == [(21,)]


def test_no_statement_is_one_that_a_sql_warehouse_refuses(shop: DbtProject, recorder: Recorder) -> None:
    assert recorder.refused == []


def test_every_table_has_a_name_of_three_parts(shop: DbtProject, recorder: Recorder) -> None:
    written = [
        sql
        for sql in recorder.sent
        if re.match(r"(insert into|create (or replace )?table|drop table|alter table|delete from) ", sql)
    ]
    assert len(written) > 15
    assert [sql for sql in written if "`spark_catalog`.`shop`." not in sql.split("(")[0]] == []
    print(len(recorder.sent), "statements were sent")
