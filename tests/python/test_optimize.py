"""Optimize: fewer rows, the same answer, at every moment, whatever cuts it off."""

from __future__ import annotations

import threading

import pytest
from pyspark.sql import SparkSession

from support.dbt_project import VIEW, model
from support.failpoint import Failpoint, case
from support.lives import ALL, LEDGERS, built, fold_next, live_project, operate
from support.processes import REMOTE
from support.targets import PLAIN, SERVERS, TARGETS, WITH_LOG

ONE = built(["versioned"])
# Ledgers whose every row goes, and a projection of one.
EMPTIED = {
    "emptied": LEDGERS["collapsed"],
    "emptied_signed": LEDGERS["signed"],
}
FILES = {
    "models/before.sql": VIEW + "select * from {{ collapsing.final(ref('versioned'), as_of=6) }}",
    "models/stage_emptied.sql": VIEW + "select position, id, version, is_deleted, amount, block from shrunk.emptying",
    "models/stage_emptied_signed.sql": VIEW + "select position, id, version, amount, sign, block from shrunk.emptying",
    **{f"models/{name}.sql": model(f"ledger(ref('stage_{name}'))", settings) for name, settings in EMPTIED.items()},
    "models/emptied_sums.sql": model("projection(ref('emptied_signed'))", {"group_by": [], "measures": {"n": "count(*)"}}),
}


@pytest.fixture(scope="module")
def shrunk(make_project):
    """A project with a ledger of every engine and input and projections, four blocks folded, most in two batches."""
    project, life = live_project(make_project, "shrunk", FILES)
    fold_next(project, life, "stage_events", "stage_states", "stage_signed", *ALL, "finals", "sums")
    for _ in range(2):
        fold_next(project, life, *ONE)
    fold_next(project, life, *ALL)
    return project, life


def _optimize(project, model: str, **arguments) -> None:
    assert operate(project, "optimize", model=model, **arguments).success


def _die(project, ledgers: list[str], begins: str, place: int) -> None:
    """Let an optimize of each ledger die before a statement."""
    for ledger in ledgers:
        failpoint = Failpoint(("macro_optimize",), begins.format(ledger), place)
        operate(project, "optimize", callbacks=[failpoint], model=ledger)
        assert failpoint.died, ledger


def _batches(project, ledger: str) -> list[int]:
    return [row[0] for row in project.rows(f"select distinct ledger_batch from {ledger} order by 1")]


def test_each_engine_is_optimized_after_an_optimize_that_died(shrunk, target: str) -> None:
    project, life = shrunk
    last = {ledger: _batches(project, ledger)[-1] for ledger in LEDGERS}
    assert last == dict.fromkeys(LEDGERS, 2) | {"versioned": 4}
    begins = "insert overwrite table shrunk.{} partition" if target in PLAIN else "insert into shrunk.{} replace where"
    _die(project, [*LEDGERS], begins, 1)
    life.check(project.rows)
    for ledger in LEDGERS:
        _optimize(project, ledger)
    life.check(project.rows)
    for ledger in LEDGERS:
        assert _batches(project, ledger) == [-last[ledger]], ledger
        assert project.rows(f"select count(*) from {ledger} where ledger_sign = -1") == [(0,)], ledger
    assert project.rows("select block, planned_in, ledger_batch from versioned__manifest where block is not null order by 1") == [
        (f"b{number:04}", number, -4) for number in range(1, 5)
    ]


def test_batches_are_folded_upon_a_base(shrunk) -> None:
    project, life = shrunk
    for _ in range(2):
        fold_next(project, life, *ONE)
    fold_next(project, life, *ALL)
    life.check(project.rows)
    assert _batches(project, "versioned") == [-4, 5, 6, 7]
    assert _batches(project, "signed") == [-2, 3]


def test_a_state_older_than_the_base_is_refused(shrunk) -> None:
    project, _ = shrunk
    _optimize(project, "versioned", keep_batches=2)
    assert _batches(project, "versioned") == [-5, 6, 7]
    said = project.fails("show", "--inline", "select * from {{ collapsing.final(ref('versioned'), as_of=4) }}")
    assert "optimized or rebuilt later, and holds the states after batches 5 to 7" in said
    said = project.fails("show", "--inline", "select * from {{ collapsing.changes(ref('versioned'), after=4) }}")
    assert "changes after=4 are gone: the ledger was optimized or rebuilt at a later batch, 5" in " ".join(said.split())


def test_a_view_over_an_older_state_says_that_it_is_gone(shrunk) -> None:
    project, life = shrunk
    project.run("run", "--select", "before")
    assert project.rows("select * from before")
    _optimize(project, "versioned")
    with pytest.raises(Exception, match="versioned has no state as_of=6 any more"):
        project.rows("select * from before")
    life.check(project.rows)


def test_what_a_projection_has_not_read_stays(shrunk) -> None:
    project, life = shrunk
    fold_next(project, life, *ONE)
    fold_next(project, life, "versioned")
    _optimize(project, "versioned")
    assert _batches(project, "versioned") == [-8, 9]
    project.run("run", "--select", *ONE)
    life.check(project.rows, ["versioned"])
    _optimize(project, "versioned")
    assert _batches(project, "versioned") == [-9]
    life.check(project.rows, ["versioned"])
    fold_next(project, life, *ONE)


# Before which statement of an optimize dbt dies.
STEPS = (
    case("insert overwrite table shrunk.{}__manifest"),
    case("alter table shrunk.{}__dropped add partition", only=PLAIN),
    case("insert overwrite table shrunk.{} partition", only=PLAIN),
    case("create table if not exists shrunk.{}__dropped", 2, only=PLAIN),
    case("alter table shrunk.{} partition", only=PLAIN),
    case("alter table shrunk.{}__dropped partition", only=PLAIN),
    case("alter table shrunk.{} drop", only=PLAIN),
    case("insert into shrunk.{} replace where", only=WITH_LOG),
    case("alter table shrunk.{}__manifest drop"),
)


@pytest.mark.parametrize(("begins", "place"), STEPS)
def test_an_optimize_that_dies_is_finished_by_what_comes_next(shrunk, full: bool, begins: str, place: int) -> None:
    """Which is a run here; the step after it begins with an optimize, which what is left of this one must not hinder."""
    project, life = shrunk
    ledgers = ["versioned", "signed", "replaced"] if full else ["versioned"]
    _die(project, ledgers, begins, place)
    life.check(project.rows, ledgers)
    fold_next(project, life, *built(ledgers))
    life.check(project.rows, ledgers)
    if full:
        for ledger in ledgers:
            _optimize(project, ledger)
            assert len(_batches(project, ledger)) == 1, ledger
        life.check(project.rows, ledgers)
        fold_next(project, life, *built(ledgers))


def test_readers_see_one_state_or_another_while_batches_come_and_go(shrunk, spark, target: str) -> None:
    """Or they stop and say why: on parquet a query cannot be planned while an optimize moves batches."""
    project, life = shrunk
    query = "select count(*), sum(amount) from shrunk.finals where ledger = 'versioned'"
    states = set(project.rows(query))
    seen, failed, done = [], [], threading.Event()

    def read() -> None:
        session = SparkSession.builder.remote(REMOTE).create() if target in SERVERS else spark.newSession()
        while not done.is_set():
            try:
                seen.append(tuple(session.sql(query).first()))
            except Exception as error:
                failed.append(str(error))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _ in range(2):
            fold_next(project, life, "versioned")
            states |= set(project.rows(query))
        _optimize(project, "versioned")
    finally:
        done.set()
        reader.join()
    assert len(set(seen)) > 1 and set(seen) <= states, (seen[-3:], states, failed[-1:])
    assert all("versioned was optimized while this query was being planned: run it again" in error for error in failed)


@pytest.mark.only(*(target for target in TARGETS if target not in SERVERS))
def test_a_query_that_was_planned_before_shows_one_state(shrunk, spark, full: bool) -> None:
    """Or it stops and says why, whatever Spark has found out of the partitions when a batch comes, or an optimize."""
    project, life = shrunk
    ledgers = ["versioned", "signed", "replaced"] if full else ["versioned"]

    def planned() -> list[tuple]:
        """Give (ledger, phase, query), each planned as far as its phase."""
        queries = [
            (ledger, phase, spark.sql(f"select * from shrunk.finals where ledger = '{ledger}'"))
            for ledger in ledgers
            for phase in ("analyzed", "optimizedPlan", "executedPlan")
        ]
        for _, phase, query in queries:
            getattr(query._jdf.queryExecution(), phase)()
        return queries

    def states() -> dict[str, list]:
        return {name: project.rows(f"select * from finals where ledger = '{name}' order by all") for name in ledgers}

    before, queries = states(), planned()
    fold_next(project, life, *built(ledgers))
    after = states()
    for ledger, phase, query in queries:
        assert before[ledger] != after[ledger]
        assert sorted(map(tuple, query.collect())) in (before[ledger], after[ledger]), (ledger, phase)
    queries = planned()
    for ledger in ledgers:
        _optimize(project, ledger)
    for ledger, phase, query in queries:
        try:
            seen = query.collect()
        except Exception as error:
            assert f"{ledger} was optimized while this query was being planned: run it again" in str(error)
        else:
            assert sorted(map(tuple, seen)) == after[ledger], (ledger, phase)


@pytest.mark.full
def test_a_ledger_of_which_nothing_is_left(shrunk) -> None:
    project, _ = shrunk
    project.sql("create table shrunk.emptying using parquet as select * from shrunk.arrived limit 0")
    models = [*EMPTIED, "emptied_sums"]
    project.run("run", "--select", *[f"stage_{name}" for name in EMPTIED])
    for sign, block in ((1, "a"), (-1, "b")):
        project.sql(f"insert into shrunk.emptying values (0, 1, 1, {str(sign < 0).lower()}, 5, {sign}, '{block}')")
        project.run("run", "--select", *models)
    for ledger in EMPTIED:
        _optimize(project, ledger)
        assert project.rows(f"select ledger_batch, ledger_sign, id from {ledger}") == [(-2, 0, None)]
        assert project.rows(f"select * from {ledger}__manifest where block = 'a' and ledger_batch <> -2") == []
    project.sql("insert into shrunk.emptying values (0, 1, 2, false, 7, 1, 'c')")
    project.run("run", "--select", *models)
    for ledger in EMPTIED:
        assert project.rows(f"select ledger_batch, amount from {ledger} where ledger_sign = 1") == [(3, 7)]
