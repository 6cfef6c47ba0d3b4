"""Optimize and undo: fewer rows, the same answer, at every moment, whatever cuts them off."""

from __future__ import annotations

import json
import re
import threading

import pytest
from pyspark.sql import SparkSession

from support.dbt_project import VIEW
from support.failpoint import Failpoint, always, in_full
from support.lives import LEDGERS, Life, live_project, stage
from support.processes import REMOTE
from support.targets import PLAIN, SERVERS, TARGETS, WITH_LOG


@pytest.fixture(scope="module")
def shrunk(make_project):
    """A project with a ledger of every engine and input and projections, four blocks folded; gives (project, life)."""
    project, life = live_project(make_project, "shrunk")
    for _ in range(4):
        _fold_next(project, life)
    return project, life


def _fold_next(project, life: Life, *selected: str) -> None:
    """Stage the next block and fold it."""
    stage(project, life.next_block())
    project.run("run", *selected)


def _operate(project, operation: str, callbacks=(), **arguments):
    """Run an operation; gives dbt's result."""
    return project.invoke("run-operation", f"collapsing.{operation}", "--args", json.dumps(arguments), callbacks=callbacks)


def _optimize(project, model: str, **arguments) -> None:
    assert _operate(project, "optimize", model=model, **arguments).success


def _rows(project, ledger: str) -> list[tuple]:
    """Give (batch, sign, rows) of a ledger."""
    return project.rows(f"select ledger_batch, ledger_sign, count(*) from {ledger} group by 1, 2 order by 1, 2")


def test_a_base_is_what_is_left_and_the_answer_stays(shrunk) -> None:
    project, life = shrunk
    for ledger in LEDGERS:
        _optimize(project, ledger)
    life.check(project.rows)
    for ledger in LEDGERS:
        assert {batch for batch, _, _ in _rows(project, ledger)} == {-4}, ledger
        assert not any(sign == -1 for _, sign, _ in _rows(project, ledger)), ledger
    assert project.rows("select block, planned_in, ledger_batch from versioned__manifest where block is not null order by 1") == [
        (f"b{number:04}", number, -4) for number in range(1, 5)
    ]


def test_batches_are_folded_upon_a_base(shrunk) -> None:
    project, life = shrunk
    for _ in range(3):
        _fold_next(project, life)
    life.check(project.rows)
    assert [row[0] for row in project.rows("select distinct ledger_batch from versioned order by 1")] == [-4, 5, 6, 7]


def test_a_state_older_than_the_base_is_refused(shrunk) -> None:
    project, _ = shrunk
    _optimize(project, "versioned", keep_batches=2)
    assert project.rows("select distinct ledger_batch from versioned order by 1") == [(-5,), (6,), (7,)]
    said = project.fails("show", "--inline", "select * from {{ collapsing.final(ref('versioned'), as_of=4) }}")
    assert "optimized later, and holds the states after batches 5 to 7" in said
    project.run("show", "--inline", "select * from {{ collapsing.final(ref('versioned'), as_of=5) }}")
    said = project.fails("show", "--inline", "select * from {{ collapsing.changes(ref('versioned'), after=4) }}")
    assert "was optimized up to batch 5" in said


def test_a_view_over_an_older_state_says_that_it_is_gone(shrunk) -> None:
    project, life = shrunk
    project.write("models/before.sql", VIEW + "select * from {{ collapsing.final(ref('versioned'), as_of=6) }}")
    project.run("run", "--select", "before")
    assert project.rows("select * from before")
    _optimize(project, "versioned")
    with pytest.raises(Exception, match="versioned has no state as_of=6 any more"):
        project.rows("select * from before")
    (project.directory / "models/before.sql").unlink()
    life.check(project.rows)


def test_what_a_projection_has_not_read_stays(shrunk, capsys) -> None:
    project, life = shrunk
    _fold_next(project, life)
    _fold_next(project, life, "--exclude", "sums_of_collapsed", "finals", "sums")
    _optimize(project, "collapsed")
    assert [row[0] for row in project.rows("select distinct ledger_batch from collapsed order by 1")] == [-8, 9]
    project.run("run")
    life.check(project.rows)
    _optimize(project, "collapsed")
    assert {batch for batch, _, _ in _rows(project, "collapsed")} == {-9}
    life.check(project.rows)


# Before which statement of an optimize dbt dies.
STEPS = (
    in_full("insert overwrite table shrunk.{}__manifest"),
    in_full("alter table shrunk.{}__dropped add partition", only=PLAIN),
    always("insert overwrite table shrunk.{} partition", only=PLAIN),
    in_full("create table if not exists shrunk.{}__dropped", 2, only=PLAIN),
    in_full("alter table shrunk.{} partition", only=PLAIN),
    always("alter table shrunk.{}__dropped partition", only=PLAIN),
    in_full("alter table shrunk.{} drop", only=PLAIN),
    in_full("alter table shrunk.{}__manifest drop", only=PLAIN),
    always("insert into shrunk.{} replace where", only=WITH_LOG),
    always("delete from shrunk.{}__manifest", only=WITH_LOG),
)


@pytest.mark.parametrize(("begins", "place"), STEPS)
def test_an_optimize_that_dies_is_finished_by_what_comes_next(shrunk, begins: str, place: int) -> None:
    project, life = shrunk
    _fold_next(project, life)
    for ledger in ("versioned", "signed", "replaced"):
        failpoint = Failpoint(("macro_optimize",), begins.format(ledger), place)
        _operate(project, "optimize", callbacks=[failpoint], model=ledger)
        assert failpoint.died, ledger
    life.check(project.rows)
    _fold_next(project, life)
    life.check(project.rows)
    for ledger in ("versioned", "signed", "replaced"):
        _optimize(project, ledger)
        assert {batch for batch, _, _ in _rows(project, ledger)} == {-life.blocks}, ledger
    life.check(project.rows)


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
        for _ in range(3):
            _fold_next(project, life, "--select", "versioned")
            states |= set(project.rows(query))
        _optimize(project, "versioned")
    finally:
        done.set()
        reader.join()
    assert len(set(seen)) > 1 and set(seen) <= states, (seen[-3:], states, failed[-1:])
    assert all("versioned was optimized while this query was being planned: run it again" in error for error in failed)


@pytest.mark.only("parquet", "s3")
def test_a_final_asks_once_for_its_base_and_its_newest_batch(shrunk, spark) -> None:
    """Else two scans of one query could take two batches for the newest."""
    project, life = shrunk
    _fold_next(project, life)
    for ledger in ("versioned", "signed", "replaced"):
        query = spark.sql(f"select * from shrunk.finals where ledger = '{ledger}'")
        query.collect()
        plan = query._jdf.queryExecution().executedPlan().toString()
        assert len(set(re.findall(r"Subquery subquery#(\d+)", plan))) == 2, plan
        # what may have lost batches to an optimize is listed before what would see its base
        assert set(re.findall(r"Location: (\w+)", plan)) == {"CatalogFileIndex", "InMemoryFileIndex"}, plan


@pytest.mark.only(*(target for target in TARGETS if target not in SERVERS))
def test_a_query_that_was_planned_before_shows_one_state(shrunk, spark) -> None:
    """Or it stops and says why, whatever Spark has found out of the partitions when a batch comes, or an optimize."""
    project, life = shrunk
    ledgers = ("versioned", "signed", "replaced")

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
    _fold_next(project, life)
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


def test_a_ledger_of_which_nothing_is_left(make_project) -> None:
    project, _ = live_project(make_project, "emptied")
    for sign, block in ((1, "a"), (-1, "b")):
        stage(project, [(0, 1, 1, sign < 0, 5, sign, block)])
        project.run("run", "--select", "stage_events", "stage_signed", "collapsed", "signed", "sums_of_signed")
    for ledger in ("collapsed", "signed"):
        _optimize(project, ledger)
        assert project.rows(f"select ledger_batch, ledger_sign, id from {ledger}") == [(-2, 0, None)]
        assert project.rows(f"select * from {ledger}__manifest where block = 'a' and ledger_batch <> -2") == []
    stage(project, [(0, 1, 2, False, 7, 1, "c")])
    project.run("run", "--select", "stage_events", "stage_signed", "collapsed", "signed", "sums_of_signed")
    for ledger in ("collapsed", "signed"):
        assert project.rows(f"select ledger_batch, amount from {ledger} where ledger_sign = 1") == [(3, 7)]


@pytest.fixture(scope="module")
def undone(make_project):
    """The same project for undo; gives (project, life)."""
    return live_project(make_project, "undone")


def test_undo_gives_the_state_before_the_batch(undone) -> None:
    project, life = undone
    states = []
    for _ in range(3):
        stage(project, life.next_block())
        project.run("run")
        states.append((project.rows("select * from finals order by all"), project.rows("select * from sums order by all")))
        if life.blocks < 2:
            continue
        for ledger in LEDGERS:
            assert _operate(project, "undo", model=ledger).success == (ledger != "replaced"), ledger
        project.run("run")
        without = "where ledger <> 'replaced' order by all"
        before = [row for row in states[-2][0] if row[0] != "replaced"]
        assert project.rows(f"select * from finals {without}") == before, life.blocks
        assert project.rows("select * from sums order by all") == states[-2][1], life.blocks
        for ledger in (name for name in LEDGERS if name != "replaced"):
            assert _operate(project, "undo", model=ledger).success
        project.run("run")
        life.check(project.rows)


def test_undone_blocks_are_read_again_when_asked(undone) -> None:
    project, life = undone
    for ledger in (name for name in LEDGERS if name != "replaced"):
        assert _operate(project, "undo", model=ledger, unread=True).success
    project.run("run")
    life.check(project.rows)
    stage(project, life.next_block())
    project.run("run")
    life.check(project.rows)


def test_an_undone_batch_is_not_folded_into_a_base_without_its_undo(undone, capsys) -> None:
    project, life = undone
    stage(project, life.next_block())
    project.run("run")
    assert _operate(project, "undo", model="versioned").success
    project.run("run")
    last = project.rows("select max(ledger_batch) from versioned")[0][0]
    _optimize(project, "versioned", keep_batches=1)
    assert project.rows("select max(-ledger_batch) from versioned") == [(last - 2,)]
    _optimize(project, "versioned")
    assert {batch for batch, _, _ in _rows(project, "versioned")} == {-last}
    assert _operate(project, "undo", model="versioned").success is False


def test_the_history_has_a_row_for_each_batch(undone) -> None:
    project, _ = undone
    rows = project.rows(
        "select ledger_batch, blocks, rows_read, states, cancels, undoes, seconds > 0 from signed__history order by 1"
    )
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    assert rows[0][1:] == (1, 3, 3, 0, None, True)
    assert rows[2][1:] == (None, 0, rows[1][4], rows[1][3], 2, True)
    counts = "select sum(rows_read), coalesce(sum(aggregate(map_values(decisions), 0L, (a, b) -> a + b)), 0) from {}__history"
    for name, settings in LEDGERS.items():
        [(read, decided)] = project.rows(counts.format(name))
        assert read > 0 and decided == (read if settings["count_decisions"] else 0), name
