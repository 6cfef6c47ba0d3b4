"""Promise 3: whatever an act was doing when it died, the next run ends in the state that an undisturbed one gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.dbt_project import DbtProject, messages_of
from support.failpoint import Failpoint, deaths
from support.lives import LEDGERS, Life, built, live_project, operate, queries, stage, wider_files
from support.targets import PLAIN

# How the statements begin that write a commit out of sight, and that publish it; `{}` is the table.
WRITES = dict.fromkeys(PLAIN, "insert overwrite directory") | {
    "delta": "insert into crash.{} ",
    "iceberg": "alter table crash.{} create branch",
}
PUBLISHES = dict.fromkeys(PLAIN, "alter table crash.{} add") | {"delta": "insert into crash.{} ", "iceberg": "call "}
# Where tables are folders that the test can write into.
ON_DISK = tuple(target for target in PLAIN if target != "s3")


class Crash:
    """A project whose acts die, with what it has shown so far; `ledgers` are those that die."""

    def __init__(self, project: DbtProject, life: Life, ledgers: list[str], target: str) -> None:
        self.project, self.life, self.ledgers, self.target = project, life, ledgers, target
        self.projections = [name for name in built(ledgers) if name not in ledgers]
        self.suffix = ""
        self.states: list[list] = []

    def run(self, *arguments: str, models: list[str], callbacks=()):
        """Run some models; returns dbt's result."""
        variables = {"suffix": self.suffix} if self.suffix else None
        return self.project.invoke("run", *arguments, "--select", *models, variables=variables, callbacks=callbacks)

    def shows(self) -> list[list]:
        """Return the rows of the finals, and the sums."""
        return [sorted(self.project.rows(query)) for query in queries(self.ledgers)]

    def recover(self) -> None:
        """Run what has died again, and compare. A full refresh that has died before it dropped anything is repeated."""
        again = self.run(models=built(self.ledgers))
        if not again.success:
            assert "--full-refresh" in messages_of(again), messages_of(again)
            assert self.run("--full-refresh", models=built(self.ledgers)).success
        self.life.check(self.project.rows, self.ledgers)
        self.states.append(self.shows())

    def fold_next(self) -> None:
        """Stage the next block and fold it."""
        stage(self.project, self.life.next_block())
        self.recover()


def _run(crash: Crash, failpoint: Failpoint) -> None:
    stage(crash.project, crash.life.next_block())
    crash.run(models=built(crash.ledgers), callbacks=[failpoint])


def _full_refresh(crash: Crash, failpoint: Failpoint) -> None:
    crash.run("--full-refresh", models=crash.ledgers, callbacks=[failpoint])


def _create_again(crash: Crash, failpoint: Failpoint) -> None:
    """A full refresh with a column more, or less."""
    crash.suffix = "" if crash.suffix else "_wider"
    _full_refresh(crash, failpoint)


def _create(crash: Crash, failpoint: Failpoint) -> None:
    """A first run."""
    for name in crash.ledgers:
        crash.project.sql(f"drop table if exists crash.{name}{' purge' if crash.target == 'iceberg' else ''}")
    crash.run(models=crash.ledgers, callbacks=[failpoint])


def _create_projections_again(crash: Crash, failpoint: Failpoint) -> None:
    crash.run("--full-refresh", models=crash.projections, callbacks=[failpoint])


def _optimize(crash: Crash, failpoint: Failpoint) -> None:
    crash.fold_next()
    operate(crash.project, "optimize", [failpoint], model="versioned")


def _undo(crash: Crash, failpoint: Failpoint) -> None:
    crash.fold_next()
    operate(crash.project, "undo", [failpoint], model="versioned", batch=crash.project.visible("crash.versioned")[-1])


@dataclass(frozen=True)
class Act:
    """What dies: an act, its nodes, the statement before which it dies by default, and how many states it may leave.

    These are the last ones of `Crash.states` after the recovery; 0 where a table is missing, or empty, for a moment.
    """

    does: Callable[[Crash, Failpoint], None]
    nodes: Callable[[Crash], list[str]]
    begins: dict[str, str]
    states: int = 2


def _at(begins: dict[str, str]) -> dict[str, str]:
    """Return how statements of an operation begin, whose node is not named like the table."""
    return {target: text.format("versioned") for target, text in begins.items()}


ACTS = {
    "run": Act(_run, lambda crash: crash.ledgers, PUBLISHES),
    "projection's run": Act(_run, lambda crash: crash.projections, PUBLISHES),
    "optimize": Act(_optimize, lambda crash: ["macro_optimize"], _at(PUBLISHES)),
    "undo": Act(_undo, lambda crash: ["macro_undo"], _at(PUBLISHES), states=3),
    "created again": Act(_create_again, lambda crash: crash.ledgers, WRITES, states=0),
    "full refresh": Act(_full_refresh, lambda crash: crash.ledgers, PUBLISHES),
    "first run": Act(_create, lambda crash: crash.ledgers, WRITES, states=0),
    "projection created again": Act(_create_projections_again, lambda crash: crash.projections, WRITES, states=0),
}


@pytest.fixture(scope="module")
def crash(make_project, full: bool, target: str) -> Crash:
    """A project with ledgers and projections, two blocks folded."""
    ledgers = [*LEDGERS] if full else ["versioned"]
    project, life = live_project(make_project, "crash", wider_files(ledgers), ledgers)
    stage(project, life.next_block())
    project.run("run")
    crash = Crash(project, life, ["versioned", "signed", "replaced"] if full else ledgers, target)
    crash.fold_next()
    return crash


def _of(ledger: str, rows: list) -> list:
    """Return the rows of a ledger, whose name is their first column."""
    return [row for row in rows if row[0] == ledger]


# all but a run are left to the full run: test_protocol plays them by default
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.full] * (name != "run")) for name in ACTS])
def test_an_act_that_dies_is_made_good_by_the_next_run(crash: Crash, name: str, full: bool) -> None:
    """Before it publishes, or in the full run before each of its statements; readers see no state that never was."""
    act = ACTS[name]
    for _ in deaths(lambda failpoint: act.does(crash, failpoint), tuple(act.nodes(crash)), act.begins[crash.target], full):
        dead = crash.shows() if act.states else []
        crash.recover()
        for place, rows in enumerate(dead):
            for ledger in crash.ledgers:  # each commits by itself, and an undo takes one back
                assert _of(ledger, rows) in [_of(ledger, state[place]) for state in crash.states[-act.states :]], ledger
    crash.recover()


@pytest.mark.full
def test_each_engine_dies_before_its_commit_and_dies_again(crash: Crash) -> None:
    every = Crash(crash.project, crash.life, [*LEDGERS], crash.target)
    every.recover()
    for _ in range(2):
        failpoint = Failpoint(tuple(LEDGERS), PUBLISHES[crash.target], 1)
        _run(every, failpoint)
        assert failpoint.died == set(LEDGERS)
    every.recover()


@pytest.mark.only(*ON_DISK)
@pytest.mark.full
def test_a_folder_that_is_not_ours_is_named_and_left_alone(crash: Crash, spark) -> None:
    project = crash.project
    project.sql("drop table crash.first")
    schema = spark.sql("describe schema crash").where("info_name = 'Location'").first()[1].removeprefix("file:")
    stranger = Path(schema) / "first" / "somebody"
    stranger.mkdir(parents=True)
    first = Crash(project, crash.life, ["first"], crash.target)
    said = messages_of(first.run(models=["first"]))
    assert "LOCATION_ALREADY_EXISTS" in said and str(stranger.parent) in said
    assert stranger.is_dir()
    stranger.rmdir()
    first.recover()
