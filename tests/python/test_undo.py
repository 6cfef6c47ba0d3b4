"""Undo: a batch is undone by a batch, in every ledger that can cancel it, its blocks are unread again, and projections follow."""

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


def _sums(ledgers: list[str]) -> list[str]:
    """Return the projections of ledgers."""
    return [name for name in built(ledgers) if name not in ledgers]


def _undo(project, *ledgers: str) -> None:
    """Undo the last batch of ledgers."""
    for ledger in ledgers:
        assert operate(project, "undo", model=ledger, batch=project.batches(ledger)[-1]).success, ledger


def _said(project, **arguments) -> str:
    """Return what an undo of `versioned` says."""
    said: list[str] = []
    hears = [lambda event: said.append(event.info.msg)]
    assert operate(project, "undo", model="versioned", callbacks=hears, **arguments).success
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


# Arguments of an undo that cannot be, and what is said of them.
WRONG = [
    ({"model": "versioned"}, "undo needs 'batch', the number of the batch to undo; given: nothing"),
    ({"batch": 1}, "undo needs --args '{model: <name of a ledger>}'"),
    ({"model": "versioned", "batch": 3}, "batch 3 cannot be undone: the newest batch that counts is 1"),
    ({"model": "versioned", "batch": "two"}, 'given: "two"'),
    ({"model": "sums_of_versioned", "batch": 1}, "undo needs a ledger; this is a projection"),
    ({"model": "replaced", "batch": 1}, "undo appends the negation of a batch, and the engine replacing has no cancel rows"),
]


def test_an_undo_that_is_asked_for_again_changes_nothing(undone, capsys, full: bool) -> None:
    project, _ = undone
    batches = project.batches("versioned")
    assert batches == [1, 2, 3]
    assert "batch 2 is undone already, by batch 3: nothing was changed" in _said(project, batch=2)
    said = _said(project, batch=1, dry_run=True)
    assert "undoes batch 1: final is again what it was before the first batch (dry run" in said
    for arguments, words in WRONG[: None if full else 3]:
        capsys.readouterr()
        assert not operate(project, "undo", **arguments).success
        assert words in " ".join(capsys.readouterr().out.split()), words
    assert project.batches("versioned") == batches


def test_blocks_of_an_undone_batch_are_read_again(undone, undoable: list[str]) -> None:
    project, life = undone
    project.run("run", "--select", *built(undoable))
    life.check(project.rows, undoable)
    assert "batch 2 is undone already, by batch 3: nothing was changed" in _said(project, batch=2)


def test_batches_are_undone_one_after_the_other(undone, capsys) -> None:
    project, life = undone
    assert not operate(project, "undo", model="versioned", batch=1).success
    assert "batch 1 cannot be undone before those after it: start with batch 4" in capsys.readouterr().out
    for batch in (4, 1):
        assert operate(project, "undo", model="versioned", batch=batch).success
    assert project.rows("select * from finals where ledger = 'versioned'") == []
    project.run("run", "--select", *built(["versioned"]))
    life.check(project.rows, ["versioned"])
    project.run("run", "--select", "decided")
    decisions, staged = dict(project.rows("select * from decided")), project.rows("select count(*) from stage_events")[0][0]
    assert "unread" not in decisions and sum(decisions.values()) == staged, decisions
    undos = "select undoes from versioned__history where undoes is not null"
    counted = f"select explode(decisions) from versioned__history where ledger_batch not in ({undos})"
    assert decisions == dict(project.rows(f"select key, sum(value) from ({counted}) group by key"))


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
        assert read > 0 and decided == read, name


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
    assert not operate(project, "undo", model="versioned", batch=last).success


@pytest.mark.full
def test_what_was_undone_and_folded_into_a_base_decides_about_no_other_row(undone) -> None:
    project, life = undone
    project.write("models/decided.sql", f"select * from {DECIDED}")
    rows = "select * except (ledger_batch) from decided where {} order by all"
    project.run("run", "--select", "decided")
    before = project.rows(rows.format("decision <> 'unread'"))
    fold_next(project, life, "versioned", "sums_of_versioned")
    _undo(project, "versioned")
    project.run("run", "--select", "sums_of_versioned")
    assert operate(project, "optimize", model="versioned").success
    project.run("run", "--select", "decided")
    assert before and project.rows(rows.format("decision <> 'unread'")) == before
    assert project.rows(rows.format("decision = 'unread'"))
