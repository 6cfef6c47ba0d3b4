"""Optimize: fewer rows, the same answer, at every moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from support.dbt_project import VIEW, Statements, model
from support.lives import LEDGERS, built, fold_next, live_project, operate, stage
from support.processes import REMOTE
from support.targets import SERVERS, TARGETS

ONE = built(["versioned"])
# Ledgers that only --full has: their rules are those of others here, and other files optimize them.
LATER = ("first", "collapsed", "versioned_signed", "replaced")
# Signed rows, of which the cancel row of a state comes in the first of these blocks, and the state row in the last.
BLOCKS = 20
OTHERS = ", ".join(f"({100 + block}, 1, 1, 1, {block})" for block in range(2, BLOCKS))
EARLY = f"(1, 1, 10, -1, 1), (1, 2, 15, 1, 1), {OTHERS}, (1, 1, 10, 1, {BLOCKS})"
# Ledgers whose every row goes, and a projection of one.
EMPTIED = {
    "emptied": LEDGERS["collapsed"],
    "emptied_signed": LEDGERS["signed"],
}
FILES = {
    "models/before.sql": VIEW + "select * from {{ collapsing.final(ref('versioned'), as_of=4) }}",
    "models/older.sql": VIEW + "select * from {{ collapsing.final(ref('versioned'), as_of=3) }}",
    "models/changed.sql": VIEW + "select * from {{ collapsing.changes(ref('versioned'), after=3) }}",
    "models/stage_emptied.sql": VIEW + "select position, id, version, is_deleted, amount, block from shrunk.emptying",
    "models/stage_emptied_signed.sql": VIEW + "select position, id, version, amount, sign, block from shrunk.emptying",
    **{f"models/{name}.sql": model(f"ledger(ref('stage_{name}'))", settings) for name, settings in EMPTIED.items()},
    "models/emptied_sums.sql": model("projection(ref('emptied_signed'))", {"group_by": [], "measures": {"n": "count(*)"}}),
    "models/stage_early.sql": VIEW
    + f"select * from values {EARLY} as t (id, version, amount, sign, block) where block <= {{{{ var('early', 1) }}}}",
    "models/early.sql": model(
        "ledger(ref('stage_early'))", {"input": "signed", "key": "id", "version": "version", "sign": "sign", "block": "block"}
    ),
    "models/early_sums.sql": model(
        "projection(ref('early'))", {"group_by": ["id"], "measures": {"n": "count(*)", "amount": "sum(amount)"}}
    ),
    "models/live_early_sums.sql": VIEW + "select * from {{ collapsing.final(ref('early_sums')) }}",
}


@pytest.fixture(scope="module")
def every(full: bool) -> list[str]:
    """The ledgers that there are."""
    return [name for name in LEDGERS if full or name not in LATER]


@pytest.fixture(scope="module")
def shrunk(make_project, every: list[str]):
    """A project with ledgers of several engines and inputs and projections, four blocks folded in two batches, or three."""
    project, life = live_project(make_project, "shrunk", FILES, every)
    stage(project, life.next_block())
    fold_next(project, life, "stage_events", "stage_states", "stage_signed", *built(every), "finals", "sums")
    fold_next(project, life, *ONE)
    fold_next(project, life, *built(every))
    return project, life


def _optimize(project, model: str, **arguments) -> None:
    assert operate(project, "optimize", model=model, **arguments).success


def _visible(project, ledgers: list[str]) -> dict[str, list[int]]:
    return {ledger: project.visible(ledger) for ledger in ledgers}


def test_each_engine_is_optimized(shrunk, every: list[str]) -> None:
    project, life = shrunk
    last = dict.fromkeys(every, 2) | {"versioned": 3}
    assert _visible(project, every) == {ledger: [*range(number + 1)] for ledger, number in last.items()}
    tombstones = "select id, version from {} where ledger_sign = 0 order by id"
    deleted = project.rows(tombstones.format(project.data("versioned")))
    for ledger in every:
        _optimize(project, ledger)
    life.check(project.rows, every)
    assert _visible(project, every) == {ledger: [-number] for ledger, number in last.items()}
    for ledger in every:
        assert project.rows(f"select count(*) from {project.data(ledger)} where ledger_sign = -1") == [(0,)], ledger
    assert deleted and project.rows(tombstones.format(project.data("versioned"))) == deleted
    blocks = project.rows(f"select block, batch from {project.notes('versioned', 'block')} order by 1")
    assert blocks == [("b0001", 1), ("b0002", 1), ("b0003", 2), ("b0004", 3)]


def test_a_second_optimize_finds_nothing_to_do(shrunk, every: list[str]) -> None:
    project, life = shrunk
    before = {ledger: project.batches(ledger) for ledger in every}
    heard = Statements()
    for ledger in every:
        assert operate(project, "optimize", [heard], model=ledger).success
    assert [statement for statement in heard.heard if statement.startswith(("insert", "alter", "delete", "call"))] == []
    assert {ledger: project.batches(ledger) for ledger in every} == before
    life.check(project.rows, every)


def test_batches_are_folded_upon_a_compacted_one(shrunk, every: list[str]) -> None:
    project, life = shrunk
    fold_next(project, life, *ONE)
    fold_next(project, life, *built(every))
    life.check(project.rows, every)
    # and by views that are made now
    project.run("run", "--select", "finals")
    life.check(project.rows, every)
    assert project.visible("versioned") == [-3, 4, 5]
    assert project.visible("signed") == [-2, 3]


def test_a_state_older_than_the_compacted_one_is_refused(shrunk) -> None:
    project, _ = shrunk
    _optimize(project, "versioned", keep_batches=1)
    assert project.visible("versioned") == [-4, 5]
    said = project.failures("run", "--select", "older", "changed")
    assert "optimized or rebuilt later, and holds the states after batches 4 to 5" in said["older"]
    assert "changes after=3 are gone: the ledger was optimized or rebuilt at a later batch, 4" in said["changed"]


def test_a_view_over_an_older_state_says_that_it_is_gone(shrunk, every: list[str]) -> None:
    project, life = shrunk
    project.run("run", "--select", "before")
    assert project.rows("select * from before")
    _optimize(project, "versioned")
    for seen in ("", " where id = -1"):  # also where no file can have what is asked for
        with pytest.raises(Exception, match="versioned has no state as_of=4 any more"):
            project.rows(f"select * from before{seen}")
    life.check(project.rows, every)


def _garbage(project, ledger: str) -> set[str]:
    """Return the names of files that hold what nobody sees, which the next compacted batch may drop."""
    visible = ", ".join(map(str, project.visible(ledger)))
    files = f"select distinct input_file_name() from shrunk.{ledger} where ledger_batch not in ({visible})"
    return {name.rpartition("/")[2] for (name,) in project.rows(files)}


@contextmanager
def _read_meanwhile(spark, target: str, query: str, states: set[tuple], garbage: set[str]) -> Iterator[None]:
    """Read again and again while the block lasts: each answer is one of `states`.

    A query that begins just when files of `garbage` are dropped, which was garbage before the block, may fail for want of one.
    """
    seen, failed, done = [], [], threading.Event()

    def read() -> None:
        session = SparkSession.builder.remote(REMOTE).create() if target in SERVERS else spark.newSession()
        while not done.wait(0.2):  # a thread that never rests would take one of two cores from dbt
            try:
                seen.append(tuple(session.sql(query).first()))
            except Exception as error:
                failed.append(str(error))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        done.set()
        reader.join()
    assert len(set(seen)) > 1 and set(seen) <= states, (seen[-3:], states, failed[-1:])
    assert [said for said in failed if not any(file in said for file in garbage)] == []


def test_what_a_projection_has_not_read_stays_and_readers_see_one_state_or_another(
    shrunk, spark, target: str, full: bool
) -> None:
    project, life = shrunk
    query = "select count(*), sum(amount) from shrunk.finals where ledger = 'versioned'"
    states = set(project.rows(query))
    with _read_meanwhile(spark, target, query, states, _garbage(project, "versioned")):
        fold_next(project, life, *ONE)
        states |= set(project.rows(query))
        fold_next(project, life, "versioned")
        states |= set(project.rows(query))
        _optimize(project, "versioned")
        assert project.visible("versioned") == [-6, 7]
    project.run("run", "--select", *ONE)
    life.check(project.rows, ["versioned"])
    if full:
        _optimize(project, "versioned")
        assert project.visible("versioned") == [-7]
        life.check(project.rows, ["versioned"])


@pytest.mark.only(*(target for target in TARGETS if target not in SERVERS))
@pytest.mark.full
def test_a_query_that_was_planned_before_shows_one_state(shrunk, every: list[str], spark) -> None:
    """Whatever Spark has found out of the partitions when a batch comes, or an optimize.

    If it has listed partitions that were garbage then, an optimize drops them: the query fails for want of their files, and one
    that is planned anew answers.
    """
    project, life = shrunk
    ledgers = ["versioned", "signed", "replaced"]

    def query(ledger: str):
        return spark.sql(f"select * from shrunk.finals where ledger = '{ledger}'")

    def planned() -> list[tuple]:
        """Return (ledger, phase, query), each planned as far as its phase."""
        queries = [
            (ledger, phase, query(ledger)) for ledger in ledgers for phase in ("analyzed", "optimizedPlan", "executedPlan")
        ]
        for _, phase, one in queries:
            getattr(one._jdf.queryExecution(), phase)()
        return queries

    def states() -> dict[str, list]:
        return {name: project.rows(f"select * from finals where ledger = '{name}' order by all") for name in ledgers}

    def check(queries: list[tuple], states: dict[str, list], garbage: dict[str, set[str]]) -> None:
        for ledger, phase, one in queries:
            try:
                rows = one.collect()
            except Exception as error:
                if phase == "analyzed" or not any(file in str(error) for file in garbage[ledger]):
                    raise
                rows = query(ledger).collect()
            assert sorted(map(tuple, rows)) in states[ledger], (ledger, phase)

    fold_next(project, life, *built(every))
    before, queries = states(), planned()
    fold_next(project, life, *built(every))
    after = states()
    assert all(before[ledger] != after[ledger] for ledger in ledgers)
    check(queries, {ledger: [before[ledger], after[ledger]] for ledger in ledgers}, dict.fromkeys(ledgers, set()))
    queries, garbage = planned(), {ledger: _garbage(project, ledger) for ledger in ledgers}
    for ledger in ledgers:
        _optimize(project, ledger)
    check(queries, {ledger: [after[ledger]] for ledger in ledgers}, garbage)


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
        assert project.visible(ledger) == [-2] and project.rows(f"select * from {project.data(ledger)}") == []
        assert project.rows(f"select block from {project.notes(ledger, 'block')} order by 1") == [("a",), ("b",)]
    project.sql("insert into shrunk.emptying values (0, 1, 2, false, 7, 1, 'c')")
    project.run("run", "--select", *models)
    for ledger in EMPTIED:
        assert project.rows(f"select ledger_batch, amount from {project.data(ledger)}") == [(3, 7)]


@pytest.mark.full
def test_a_sum_outlives_the_merge_where_a_cancel_row_came_before_its_state_row(shrunk) -> None:
    """Of signed rows: then there are as many states as cancels, and what they add up to is not 0."""
    project, _ = shrunk
    for block in range(1, BLOCKS):
        project.run("run", "--select", "stage_early", "early", "early_sums", variables={"early": block})
    project.run("run", "--select", "stage_early+", variables={"early": BLOCKS})
    assert project.visible("early_sums")[0] < -1
    assert project.rows("select * from live_early_sums where id = 1") == [(1, 1, 15)]
