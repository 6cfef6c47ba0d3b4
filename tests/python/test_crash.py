"""Promise 3: whatever a run was doing when it died, the next run ends in the state that an uninterrupted one gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException

from support.failpoint import Failpoint, case
from support.lives import LEDGERS, SUMMED, built, live_project, stage
from support.targets import PLAIN, WITH_LOG

# Where a run dies: before the statement that begins so (`{}` is the model), or before the second of them.
LEDGER_STEPS = [
    case("describe extended"),
    case("select grouping("),
    case("insert overwrite table crash.{}__blocks"),
    case("create or replace temporary view {}__dbt_tmp"),
    case("show partitions crash.{}__history", only=PLAIN),
    case("select min(ledger_batch), max(ledger_batch) from crash.{}__history", only=WITH_LOG),
    case("insert overwrite table crash.{}__history"),
]
PROJECTION_STEPS = [
    case("create or replace temporary view {}__dbt_tmp"),
    case("insert overwrite table crash.{} "),
    case("show tblproperties", 2),
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


@pytest.fixture(scope="module")
def dying(full: bool) -> list[str]:
    """The ledgers that die at every step: all of them in the full run."""
    return [*LEDGERS] if full else ["versioned"]


def _die_and_recover(crash, ledgers: list[str], dying: list[str], begins: str, place: int = 1) -> None:
    """Land a block, let models die in a run of some ledgers and their projections, run again and compare."""
    project, life = crash
    stage(project, life.next_block())
    failpoint = Failpoint(tuple(dying), begins, place)
    project.invoke("run", "--select", *built(ledgers), callbacks=[failpoint])
    assert failpoint.died == set(dying)
    project.run("run", "--select", *built(ledgers))
    life.check(project.rows, ledgers)


@pytest.mark.parametrize(("begins", "place"), LEDGER_STEPS)
def test_a_ledger_that_dies_before_a_statement(crash, dying: list[str], begins: str, place: int) -> None:
    _die_and_recover(crash, dying, dying, begins, place)


@pytest.mark.parametrize(("begins", "place"), PROJECTION_STEPS)
def test_a_projection_that_dies_before_a_statement(crash, dying: list[str], begins: str, place: int) -> None:
    _die_and_recover(crash, dying, [f"sums_of_{name}" for name in SUMMED if name in dying], begins, place)


def test_each_engine_dies_before_its_rows_are_written(crash) -> None:
    _die_and_recover(crash, [*LEDGERS], [*LEDGERS], "insert overwrite table crash.{} ")


def test_two_runs_that_die_one_after_the_other(crash, dying: list[str]) -> None:
    project, life = crash
    for begins in ("insert overwrite table crash.{} ", "create or replace temporary view {}__dbt_tmp"):
        stage(project, life.next_block())
        project.invoke("run", "--select", *dying, callbacks=[Failpoint(tuple(dying), begins, 1)])
    project.run("run", "--select", *built(dying))
    life.check(project.rows, dying)


def test_a_full_refresh_that_dies_is_finished_by_the_next_run(crash, dying: list[str], spark, target: str) -> None:
    project, life = crash
    names = built(dying)
    failpoint = Failpoint(tuple(names), CREATES.get(target, "create table crash.{} "), 1)
    # the projections first: they read ledgers, which are gone when they have died in the middle of a full refresh
    for models in (names[len(dying) :], dying):
        project.invoke("run", "--full-refresh", "--select", *models, callbacks=[failpoint])
    assert failpoint.died == set(names)
    for name in names if target in ON_DISK else ():
        task = _folder(spark, name) / "_temporary" / "0" / "task"
        task.mkdir(parents=True)
        (task / "part-0.parquet").write_text("half of it")
    project.run("run", "--select", *names)
    life.check(project.rows, dying)
    assert not [row for row in project.rows("show tables in crash") if row[1].endswith("__unfinished")]


@pytest.mark.only("parquet")
def test_a_full_refresh_that_dies_before_spark_has_registered_its_partition(crash, spark) -> None:
    """`create table ... as` writes the rows, creates the table, then registers: here the last of it is left out."""
    project, life = crash
    for name in reversed(built(["versioned"])):  # the projection first: it reads the ledger
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
    project.run("run", "--select", *built(["versioned"]))
    life.check(project.rows, ["versioned"])
    assert not [row for row in project.rows("show tables in crash") if row[1].endswith("__unfinished")]


def test_a_first_run_that_dies_is_finished_by_the_next_run(crash, dying: list[str], spark, target: str) -> None:
    project, life = crash
    for name in dying:
        project.sql(f"drop table crash.{name}")
    fills = "insert overwrite table crash.{} " if target in PLAIN else CREATES.get(target, "create table crash.{} ")
    failpoint = Failpoint(tuple(dying), fills, 1)
    project.invoke("run", "--select", *dying, callbacks=[failpoint])
    assert failpoint.died == set(dying)
    for name in dying if target in ON_DISK else ():
        (_folder(spark, name) / "_temporary" / "0" / "task").mkdir(parents=True)
    project.run("run", "--select", *built(dying))
    life.check(project.rows, dying)


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
    project.run("run", "--select", "first")
    life.check(project.rows, ["first"])


def _folder(spark, name: str) -> Path:
    """Give the folder of a table of the project."""
    return Path(spark.sql("describe schema crash").where("info_name = 'Location'").first()[1].removeprefix("file:")) / name
