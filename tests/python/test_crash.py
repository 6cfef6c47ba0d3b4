"""Promise 3: whatever a run was doing when it died, the next run ends in the state that an uninterrupted one gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException

from support.failpoint import Failpoint, always, in_full
from support.lives import LEDGERS, SUMMED, live_project, stage
from support.targets import PLAIN, WITH_LOG

# Where a run dies: before the statement that begins so (`{}` is the model), or before the second of them.
LEDGER_STEPS = [
    in_full("describe extended"),
    in_full("select grouping("),
    in_full("insert overwrite table crash.{}__manifest"),
    in_full("create or replace temporary view {}__dbt_tmp"),
    always("insert overwrite table crash.{} "),
    always("show partitions crash.{}__history", only=PLAIN),
    always("select min(ledger_batch), max(ledger_batch) from crash.{}__history", only=WITH_LOG),
    in_full("insert overwrite table crash.{}__history"),
]
PROJECTION_STEPS = [
    in_full("create or replace temporary view {}__dbt_tmp"),
    always("insert overwrite table crash.{} "),
    in_full("show tblproperties", 2),
]


# Where tables are folders that the test can write into.
ON_DISK = tuple(target for target in PLAIN if target != "s3")
# How a table is filled that is built anew, where dbt-spark does not say `create table`.
CREATES = dict.fromkeys(WITH_LOG, "create or replace table crash.{} ")


@pytest.fixture(scope="module")
def crash(make_project):
    """A project with a ledger of every engine and input, projections, one block folded; gives (project, life)."""
    project, life = live_project(make_project, "crash")
    stage(project, life.next_block())
    project.run("run")
    return project, life


def _die_and_recover(crash, models: tuple[str, ...], begins: str, place: int) -> set[str]:
    """Land a block, let a run die, run again and compare; gives the models that died."""
    project, life = crash
    stage(project, life.next_block())
    failpoint = Failpoint(models, begins, place)
    project.invoke("run", "--exclude", "finals", "sums", callbacks=[failpoint])
    project.run("run", "--exclude", "finals", "sums")
    life.check(project.rows)
    return failpoint.died


@pytest.mark.parametrize(("begins", "place"), LEDGER_STEPS)
def test_a_ledger_that_dies_before_a_statement(crash, begins: str, place: int) -> None:
    assert _die_and_recover(crash, tuple(LEDGERS), begins, place) == set(LEDGERS)


@pytest.mark.parametrize(("begins", "place"), PROJECTION_STEPS)
def test_a_projection_that_dies_before_a_statement(crash, begins: str, place: int) -> None:
    names = tuple(f"sums_of_{name}" for name in SUMMED)
    assert _die_and_recover(crash, names, begins, place) == set(names)


def test_two_runs_that_die_one_after_the_other(crash) -> None:
    project, life = crash
    for begins in ("insert overwrite table crash.{} ", "create or replace temporary view {}__dbt_tmp"):
        stage(project, life.next_block())
        project.invoke("run", "--exclude", "finals", "sums", callbacks=[Failpoint(tuple(LEDGERS), begins, 1)])
    project.run("run", "--exclude", "finals", "sums")
    life.check(project.rows)


def test_a_full_refresh_that_dies_is_finished_by_the_next_run(crash, spark, target: str) -> None:
    project, life = crash
    names = (*LEDGERS, *(f"sums_of_{name}" for name in SUMMED))
    failpoint = Failpoint(names, CREATES.get(target, "create table crash.{} "), 1)
    project.invoke("run", "--full-refresh", "--exclude", "finals", "sums", callbacks=[failpoint])
    assert failpoint.died == set(LEDGERS)
    project.invoke("run", "--full-refresh", "--select", *names[len(LEDGERS) :], callbacks=[failpoint])
    for name in names if target in ON_DISK else ():
        task = _folder(spark, name) / "_temporary" / "0" / "task"
        task.mkdir(parents=True)
        (task / "part-0.parquet").write_text("half of it")
    project.run("run", "--exclude", "finals", "sums")
    life.check(project.rows)
    assert not [row for row in project.rows("show tables in crash") if row[1].endswith("__unfinished")]


@pytest.mark.only("parquet")
def test_a_full_refresh_that_dies_before_spark_has_registered_its_partition(crash, spark) -> None:
    """`create table ... as` writes the rows, creates the table, then registers: here the last of it is left out."""
    project, life = crash
    for name in ("collapsed", "sums_of_signed"):
        project.sql(f"create table crash.written using parquet as select * from crash.{name}")
        failpoint = Failpoint((name,), "create table crash.{} ", 1)
        project.invoke("run", "--full-refresh", "--select", name, callbacks=[failpoint])
        assert failpoint.died
        spark.conf.set("spark.sql.hive.manageFilesourcePartitions", "false")
        project.sql(f"create table crash.{name} using parquet partitioned by (ledger_batch) as select * from crash.written")
        spark.conf.unset("spark.sql.hive.manageFilesourcePartitions")
        with pytest.raises(AnalysisException, match="not stored in the Hive metastore"):
            project.sql(f"show partitions crash.{name}")
        project.sql("drop table crash.written")
    project.run("run", "--exclude", "finals", "sums")
    life.check(project.rows)
    assert not [row for row in project.rows("show tables in crash") if row[1].endswith("__unfinished")]


def test_a_first_run_that_dies_is_finished_by_the_next_run(crash, spark, target: str) -> None:
    project, life = crash
    for name in LEDGERS:
        project.sql(f"drop table crash.{name}")
    fills = "insert overwrite table crash.{} " if target in PLAIN else CREATES.get(target, "create table crash.{} ")
    failpoint = Failpoint(tuple(LEDGERS), fills, 1)
    project.invoke("run", "--exclude", "finals", "sums", callbacks=[failpoint])
    assert failpoint.died == set(LEDGERS)
    for name in LEDGERS if target in ON_DISK else ():
        (_folder(spark, name) / "_temporary" / "0" / "task").mkdir(parents=True)
    project.run("run", "--exclude", "finals", "sums")
    life.check(project.rows)


@pytest.mark.only(*ON_DISK)
def test_a_folder_that_is_not_ours_is_named_and_left_alone(crash, spark) -> None:
    project, life = crash
    project.sql("drop table crash.first")
    stranger = _folder(spark, "first") / "somebody"
    stranger.mkdir(parents=True)
    said = project.fails("run", "--select", "first")
    assert "LOCATION_ALREADY_EXISTS" in said and str(stranger.parent) in said
    assert stranger.is_dir()
    stranger.rmdir()
    project.run("run", "--exclude", "finals", "sums")
    life.check(project.rows)


def _folder(spark, name: str) -> Path:
    """Give the folder of a table of the project."""
    return Path(spark.sql("describe schema crash").where("info_name = 'Location'").first()[1].removeprefix("file:")) / name
