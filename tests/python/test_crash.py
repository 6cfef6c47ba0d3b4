"""Promise 3: whatever a run was doing when it died, the next run ends in the state that an uninterrupted one gives."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.failpoint import Failpoint, case
from support.lives import LEDGERS, built, live_project, stage
from support.targets import PLAIN, TARGETS, WITH_LOG

# Where a run dies: before the statement that begins so; `{}` is the model.
APPEND = dict.fromkeys(TARGETS, "insert overwrite table crash.{} ") | dict.fromkeys(WITH_LOG, "insert into crash.{} ")
OTHER = b'{"engine": "other"}'.hex()  # what a table was created for, as its properties have it
# What comes before the first insert only reads.
LEDGER_STEPS = [
    case("describe query", full=True),
    case("cache lazy table `crash__{}__unread", full=True),
    case("select is_total", full=True),
    case("cache lazy table `crash__{}__classified", full=True),
    case("insert overwrite table crash.{}__manifest"),
    case("drop view"),
]
PROJECTION_STEPS = [
    case("describe table extended crash.{}", full=True),
    case("insert overwrite table crash.{} ", only=PLAIN),
    case("insert into crash.{} ", only=WITH_LOG),
]


# Where tables are folders that the test can write into.
ON_DISK = tuple(target for target in PLAIN if target != "s3")


# Those that the default run has: one of versioned events, and one that cancels nothing.
DEFAULT = ["versioned", "first"]


@pytest.fixture(scope="module")
def living(full: bool) -> list[str]:
    """The ledgers that there are: of every engine with every input in the full run."""
    return [*LEDGERS] if full else DEFAULT


@pytest.fixture(scope="module")
def crash(make_project, living: list[str]):
    """A project with a ledger of every engine, projections, one block folded; returns (project, life)."""
    project, life = live_project(make_project, "crash", ledgers=living)
    stage(project, life.next_block())
    project.run("run")
    return project, life


@pytest.fixture(scope="module")
def dying(full: bool) -> list[str]:
    """The ledgers that die at every step: all of them in the full run."""
    return [*LEDGERS] if full else ["versioned"]


def _die(crash, ledgers: list[str], dying: list[str], begins: str, place: int = 1) -> None:
    """Land a block, and let models die in a run of some ledgers and their projections."""
    project, life = crash
    stage(project, life.next_block())
    failpoint = Failpoint(tuple(dying), begins, place)
    assert not project.invoke("run", "--select", *built(ledgers), callbacks=[failpoint]).success
    assert failpoint.died == set(dying)


def _recover(crash, ledgers: list[str]) -> None:
    """Run ledgers and their projections again, and compare."""
    project, life = crash
    project.run("run", "--select", *built(ledgers))
    life.check(project.rows, ledgers)


@pytest.mark.parametrize(("begins", "place"), LEDGER_STEPS)
def test_a_ledger_that_dies_before_a_statement(crash, dying: list[str], full: bool, begins: str, place: int) -> None:
    """By default upon what the death before it has left; the projection's case after them recovers the ledger too."""
    _die(crash, dying, dying, begins, place)
    if full:
        _recover(crash, dying)


@pytest.mark.parametrize(("begins", "place"), PROJECTION_STEPS)
def test_a_projection_that_dies_before_a_statement(crash, dying: list[str], begins: str, place: int) -> None:
    _die(crash, dying, [name for name in built(dying) if name not in dying], begins, place)
    _recover(crash, dying)


def test_each_engine_dies_before_its_rows_are_written(crash, living: list[str], target: str) -> None:
    _die(crash, living, living, APPEND[target])
    _recover(crash, living)


@pytest.mark.full
def test_two_runs_that_die_one_after_the_other(crash, dying: list[str], target: str) -> None:
    project, life = crash
    for begins in (APPEND[target], "cache lazy table `crash__{}__classified"):
        stage(project, life.next_block())
        failpoint = Failpoint(tuple(dying), begins, 1)
        assert not project.invoke("run", "--select", *dying, callbacks=[failpoint]).success
        assert failpoint.died == set(dying)
    project.run("run", "--select", *built(dying))
    life.check(project.rows, dying)


def test_a_full_refresh_that_dies_leaves_what_was_there(crash, dying: list[str], target: str) -> None:
    """Before its one commit nothing has changed; the next run, no full refresh, goes on with what it finds."""
    project, life = crash
    names = built(dying)
    failpoint = Failpoint(tuple(names), APPEND[target], 1)
    assert not project.invoke("run", "--full-refresh", "--select", *names, callbacks=[failpoint]).success
    assert failpoint.died == set(dying)  # dbt skips what reads them
    life.check(project.rows, dying)
    stage(project, life.next_block())
    project.run("run", "--select", *names)
    life.check(project.rows, dying)


@pytest.mark.only(*PLAIN)
@pytest.mark.full
def test_a_full_refresh_that_dies_after_its_commit_is_finished_by_the_next_run(crash, dying: list[str]) -> None:
    """Here the batches that the new base stands for are still registered."""
    project, life = crash
    failpoint = Failpoint(tuple(dying), "alter table crash.{} partition", 1)
    project.invoke("run", "--full-refresh", "--select", *dying, callbacks=[failpoint])
    assert failpoint.died == set(dying)
    assert all(len(project.batches(f"crash.{name}")) > 1 for name in dying)
    life.check(project.rows, dying)
    stage(project, life.next_block())
    project.run("run", "--select", *built(dying))
    life.check(project.rows, dying)
    assert all(len(project.batches(f"crash.{name}")) == 2 for name in dying)


@pytest.mark.full
def test_a_table_that_dies_while_it_is_created_again_is_finished_by_the_next_run(crash, dying: list[str], spark, target) -> None:
    """Of other rules or columns a full refresh drops the table: here it was dropped, and is not there."""
    project, life = crash
    replaces = "create or replace table crash.{} (" if target in WITH_LOG else "insert overwrite table crash.{}__unfinished"
    for name in reversed(built(dying)):
        mark = "collapsing.rules" if name in dying else "collapsing.projection"
        project.sql(f"alter table crash.{name} set tblproperties ('{mark}' = '{OTHER}')")
        failpoint = Failpoint((name,), replaces, 1)
        project.invoke("run", "--full-refresh", "--select", name, callbacks=[failpoint])
        assert failpoint.died == {name}
        if target in ON_DISK:
            task = _folder(spark, name) / "_temporary" / "0" / "task"
            task.mkdir(parents=True)
            (task / "part-0.parquet").write_text("half of it")
    project.run("run", "--full-refresh", "--select", *built(dying))
    life.check(project.rows, dying)
    assert not [row for row in project.rows("show tables in crash") if row[1].endswith("__unfinished")]


@pytest.mark.full
def test_a_first_run_that_dies_is_finished_by_the_next_run(crash, dying: list[str], target: str) -> None:
    project, life = crash
    for name in dying:
        project.sql(f"drop table crash.{name}")
    failpoint = Failpoint(tuple(dying), APPEND[target], 1)
    project.invoke("run", "--select", *dying, callbacks=[failpoint])
    assert failpoint.died == set(dying)
    project.run("run", "--select", *built(dying))
    life.check(project.rows, dying)


@pytest.mark.only(*ON_DISK)
def test_what_a_task_of_a_killed_job_has_left_is_not_added_to_the_next_manifest(crash, spark) -> None:
    project, life = crash
    last = project.batches("crash.versioned")[-1]
    manifest = _folder(spark, "versioned__manifest")
    written = next((manifest / f"ledger_batch={last}").glob("part-*.parquet"))
    task = manifest / "_temporary" / "0" / "task_202611260000000000000000_0001_m_000000" / f"ledger_batch={last + 1}"
    task.mkdir(parents=True)
    shutil.copy(written, task)
    stage(project, life.next_block())
    project.run("run", "--select", *built(["versioned"]))
    planned = project.rows(f"select planned_in from versioned__manifest where ledger_batch = {last + 1}")
    assert set(planned) == {(last + 1,)}
    life.check(project.rows, ["versioned"])


@pytest.mark.only(*ON_DISK)
@pytest.mark.full
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
    """Return the folder of a table of the project."""
    return Path(spark.sql("describe schema crash").where("info_name = 'Location'").first()[1].removeprefix("file:")) / name
