"""Undo: a batch is taken back by a batch, in every ledger that keeps what it took back, and projections follow."""

from __future__ import annotations

import pytest

from support.dbt_project import VIEW
from support.lives import LEDGERS, built, fold_next, live_project, operate

# The engine replacing has no cancel rows, with which an old state could come back.
UNDOABLE = [name for name in LEDGERS if name != "replaced"]
DECIDED = "{{ collapsing.decisions(ref('versioned'), ref('stage_events')) }}"
# By default of each input one, whose negations differ.
DEFAULT = ["versioned", "signed"]


@pytest.fixture(scope="module")
def undoable(full: bool) -> list[str]:
    """The ledgers that are undone: all of them in the full run."""
    return UNDOABLE if full else DEFAULT


@pytest.fixture(scope="module")
def undone(make_project, undoable: list[str]):
    """A project with the ledgers, one that cannot be undone and projections, a block folded; returns (project, life)."""
    ledgers = [*undoable, "replaced"]
    files = {"models/decided.sql": f"{VIEW}select decision, count(*) as n from {DECIDED} group by all"}
    project, life = live_project(make_project, "undone", files, ledgers)
    fold_next(project, life, "stage_events", "stage_states", "stage_signed", *built(ledgers), "finals", "sums")
    return project, life


@pytest.fixture(scope="module")
def again(full: bool) -> list[str]:
    """The ledgers that are undone more than once: all of them in the full run."""
    return UNDOABLE if full else ["versioned"]


def _sums(ledgers: list[str]) -> list[str]:
    """Return the projections of ledgers."""
    return [name for name in built(ledgers) if name not in ledgers]


def _undo(project, *ledgers: str, **arguments) -> None:
    for ledger in ledgers:
        assert operate(project, "undo", model=ledger, **arguments).success, ledger


def _said(project, **arguments) -> str:
    """Return what an undo of `versioned` says."""
    said: list[str] = []
    _undo(project, "versioned", callbacks=[lambda event: said.append(event.info.msg)], **arguments)
    [line] = [message for message in said if message.startswith("collapsing: versioned")]
    return line


def _states(project) -> tuple[list, list]:
    """Return the live rows of the ledgers that can be undone, and the sums."""
    finals = project.rows("select * from finals where ledger <> 'replaced' order by all")
    return finals, project.rows("select * from sums order by all")


def test_undo_gives_the_state_before_the_batch(undone, undoable: list[str]) -> None:
    project, life = undone
    before = _states(project)
    fold_next(project, life, *built(undoable))
    assert _states(project) != before
    _undo(project, *undoable)
    project.run("run", "--select", *_sums(undoable))
    assert _states(project) == before


def test_an_undo_that_is_asked_for_again_changes_nothing(undone, capsys, full: bool) -> None:
    project, _ = undone
    batches = project.batches("versioned")
    assert batches == [1, 2, 3]
    for arguments in ({}, *([{"batch": 2}, {"dry_run": True}] if full else [])):
        assert "batch 2 is taken back already, by batch 3" in _said(project, **arguments), arguments
    said = _said(project, redo=True, dry_run=True)
    assert "brings back batch 2: final is again what it was after that batch (dry run" in said
    assert "taken back already" not in said
    said = _said(project, batch=1, dry_run=True)
    assert "takes back batch 1: final is again what it was before the first batch (dry run" in said
    assert "taken back already" not in said
    wrongs = {9: "the newest batch that counts is 1"} | ({"two": 'given: "two"'} if full else {})
    for wrong, reason in wrongs.items():
        assert not operate(project, "undo", model="versioned", batch=wrong).success
        assert reason in " ".join(capsys.readouterr().out.split())
    assert project.batches("versioned") == batches


def test_a_redo_gives_the_state_after_the_batch(undone, again: list[str]) -> None:
    project, life = undone
    _undo(project, *again, redo=True)
    project.run("run", "--select", *_sums(again))
    life.check(project.rows, again)


def test_an_engine_without_cancel_rows_is_not_undone(undone, capsys) -> None:
    assert not operate(undone[0], "undo", model="replaced").success
    assert "undo appends the negation of a batch, and the engine replacing has no cancel rows" in " ".join(
        capsys.readouterr().out.split()
    )


def test_batches_are_taken_back_one_after_the_other_and_come_back_the_same_way(undone, capsys) -> None:
    project, _ = undone
    assert not operate(project, "undo", model="versioned", batch=1).success
    assert "batch 1 cannot be taken back before those after it: start with batch 2" in capsys.readouterr().out
    after = project.rows("select * from finals where ledger = 'versioned' order by all")
    _undo(project, "versioned", batch=2)
    _undo(project, "versioned", batch=1)
    assert project.rows("select * from finals where ledger = 'versioned'") == []
    assert not operate(project, "undo", model="versioned", batch=2, redo=True).success
    _undo(project, "versioned", redo=True)
    batches = project.batches("versioned")
    assert f"batch {batches[-1]} is a redo already: nothing was changed (batch: 2 brings" in _said(project, redo=True)
    assert project.batches("versioned") == batches
    _undo(project, "versioned", batch=2, redo=True)
    assert project.rows("select * from finals where ledger = 'versioned' order by all") == after


def test_undone_blocks_are_read_again_when_asked(undone, again: list[str]) -> None:
    project, life = undone
    _undo(project, *again, unread=True)
    project.run("run", "--select", *built(again))
    assert not operate(project, "undo", model="versioned", redo=True).success, "its blocks would be there twice"
    for redo in (False, True, True):  # a redo that is asked for again is none of what was taken back before
        _undo(project, "versioned", redo=redo)
    life.check(project.rows, again)
    project.run("run", "--select", "decided")
    decisions, staged = dict(project.rows("select * from decided")), project.rows("select count(*) from stage_events")[0][0]
    assert "unread" not in decisions and sum(decisions.values()) == staged, decisions
    counted = "select explode(decisions) from versioned__history where ledger_batch not in (select undoes from undos)"
    undos = "select * from versioned__history where undoes is not null"
    undos = f"undone as ({undos}), undos as (select * from undone where ledger_batch not in (select undoes from undone))"
    assert decisions == dict(project.rows(f"with {undos} select key, sum(value) from ({counted}) group by key"))


def test_the_history_has_a_row_for_each_batch(undone, undoable: list[str]) -> None:
    project, _ = undone
    rows = project.rows(
        "select ledger_batch, blocks, rows_read, states, cancels, undoes, seconds > 0 from signed__history order by 1"
    )
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    assert rows[0][1:] == (1, 3, 3, 0, None, True)
    assert rows[2][1:] == (None, 0, rows[1][4], rows[1][3], 2, True)
    counts = "select sum(rows_read), coalesce(sum(aggregate(map_values(decisions), 0L, (a, b) -> a + b)), 0) from {}__history"
    for name in [*undoable, "replaced"]:
        [(read, decided)] = project.rows(counts.format(name))
        assert read > 0 and decided == (read if LEDGERS[name]["count_decisions"] else 0), name


@pytest.mark.full
def test_an_undone_batch_is_not_folded_into_a_base_without_its_undo(undone) -> None:
    project, life = undone
    fold_next(project, life, "versioned", "sums_of_versioned")
    _undo(project, "versioned")
    project.run("run", "--select", "sums_of_versioned")
    last = project.rows("select max(ledger_batch) from versioned")[0][0]
    assert operate(project, "optimize", model="versioned", keep_batches=1).success
    assert project.rows("select max(-ledger_batch) from versioned") == [(last - 2,)]
    assert operate(project, "optimize", model="versioned").success
    assert project.rows("select distinct ledger_batch from versioned") == [(-last,)]
    assert not operate(project, "undo", model="versioned").success


@pytest.mark.full
def test_what_was_taken_back_and_folded_into_a_base_decides_about_no_other_row(undone) -> None:
    project, life = undone
    project.write("models/decided.sql", f"select * from {DECIDED}")
    rows = "select * except (ledger_batch) from decided where {} order by all"
    project.run("run", "--select", "decided")
    before = project.rows(rows.format("decision <> 'unread'"))
    fold_next(project, life, "versioned", "sums_of_versioned")
    last = project.batches("versioned")[-1]
    _undo(project, "versioned")
    project.run("run", "--select", "sums_of_versioned")
    assert operate(project, "optimize", model="versioned").success
    project.run("run", "--select", "decided")
    assert before and project.rows(rows.format(f"decision <> 'unread' and ledger_batch <> {last}")) == before
    assert project.rows(rows.format(f"decision = 'applied' and ledger_batch = {last}"))
