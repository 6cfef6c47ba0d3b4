"""Undo: the newest batches go, their blocks are unread again, their history says so, and projections follow."""

from __future__ import annotations

import pytest

from support.dbt_project import VIEW
from support.lives import LEDGERS, built, fold_next, live_project, operate

DECIDED = "{{ collapsing.decisions(ref('versioned'), ref('stage_events')) }}"
# By default one that has a tombstone to bring back, and one of signed rows.
DEFAULT = ["versioned", "signed"]
ACTS = "select batch, act, blocks from versioned_history order by batch"


@pytest.fixture(scope="module")
def ledgers(full: bool) -> list[str]:
    """The ledgers that are undone: all of them in the full run."""
    return [*LEDGERS] if full else DEFAULT


@pytest.fixture(scope="module")
def undone(make_project, ledgers: list[str]):
    """A project with the ledgers and projections, a block folded; returns (project, life)."""
    files = {
        "models/decided.sql": f"{VIEW}select decision, count(*) as n from {DECIDED} group by all",
        "models/versioned_history.sql": VIEW + "select * from {{ collapsing.history(ref('versioned')) }}",
    }
    project, life = live_project(make_project, "undone", files, ledgers)
    views = "stage_events", "stage_states", "stage_signed", "finals", "sums", "versioned_history"
    fold_next(project, life, *views, *built(ledgers))
    return project, life


def _sums(ledgers: list[str]) -> list[str]:
    """Return the projections of ledgers."""
    return [name for name in built(ledgers) if name not in ledgers]


def _states(project) -> tuple[list, list]:
    """Return the live rows of the ledgers, and the sums."""
    return project.rows("select * from finals order by all"), project.rows("select * from sums order by all")


def _said(project, **arguments) -> str:
    """Return what an undo of `versioned` says, which must succeed."""
    said: list[str] = []
    assert operate(project, "undo", [lambda event: said.append(event.info.msg)], model="versioned", **arguments).success
    return " ".join(" ".join(said).split())


def test_undo_gives_the_state_before_the_batch(undone, ledgers: list[str]) -> None:
    """Of two batches: the second one goes with the first."""
    project, life = undone
    before = _states(project)
    for _ in range(2):
        fold_next(project, life, *built(ledgers))
        assert _states(project) != before
    for ledger in ledgers:
        assert operate(project, "undo", model=ledger, batch=2).success, ledger
        assert project.visible(ledger) == [-4], ledger
    project.run("run", "--select", *_sums(ledgers))
    assert _states(project) == before
    assert project.rows(ACTS) == [(1, "run", 1), (2, "undone", 1), (3, "undone", 1), (4, "undo", 0)]


# Arguments of an undo that cannot be, and what is said of them.
WRONG = [
    ({"model": "versioned"}, "undo needs 'batch'"),
    ({"batch": 1}, "undo needs --args '{model: <name of a ledger>}'"),
    ({"model": "versioned", "batch": "two"}, 'given: "two"'),
    ({"model": "sums_of_versioned", "batch": 1}, "undo needs a ledger; this is a projection"),
]


def test_an_undo_that_is_asked_for_again_changes_nothing(undone, capsys, full: bool) -> None:
    """Nor does one of a batch that there never was, or a wrong one."""
    project, _ = undone
    before = project.batches("versioned")
    for batch in (2, 9):
        assert f"batch {batch}" in _said(project, batch=batch)
    for arguments, words in WRONG[: None if full else 2]:
        capsys.readouterr()
        assert not operate(project, "undo", **arguments).success
        assert words in " ".join(capsys.readouterr().out.split()), words
    assert project.batches("versioned") == before


def test_blocks_of_undone_batches_are_read_again(undone, ledgers: list[str]) -> None:
    project, life = undone
    project.run("run", "--select", *built(ledgers), "decided")
    life.check(project.rows, ledgers)
    assert project.visible("versioned") == [-4, 5]
    assert project.rows(ACTS)[-1] == (5, "run", 2)
    # each staged row has one decision again, that of the run that counts
    decisions, staged = dict(project.rows("select * from decided")), project.rows("select count(*) from stage_events")[0][0]
    assert "unread" not in decisions and sum(decisions.values()) == staged, decisions
    counted = "select explode(decisions) from versioned_history where act = 'run'"
    assert decisions == dict(project.rows(f"select key, sum(value) from ({counted}) group by key"))


def test_an_undo_that_is_tried_changes_nothing(undone) -> None:
    project, _ = undone
    before = project.batches("versioned"), _states(project)
    assert "dry run" in _said(project, batch=5, dry_run=True)
    assert (project.batches("versioned"), _states(project)) == before


@pytest.mark.full
def test_an_undo_of_all_batches_above_the_compacted_one(undone) -> None:
    project, life = undone
    fold_next(project, life, *built(["versioned"]))
    assert operate(project, "undo", model="versioned", batch=5).success
    assert project.visible("versioned") == [-7]
    project.run("run", "--select", *built(["versioned"]))
    life.check(project.rows, ["versioned"])


def test_a_batch_that_an_optimize_has_compacted_is_not_undone(undone, capsys) -> None:
    project, life = undone
    numbers, visible = project.batches("versioned"), project.visible("versioned")
    last, garbage = visible[-1], {*numbers} - {*visible}
    assert operate(project, "optimize", model="versioned").success
    assert project.visible("versioned") == [-last]
    assert not garbage & {*project.batches("versioned")}, "what was garbage before is gone"
    capsys.readouterr()
    assert not operate(project, "undo", model="versioned", batch=last).success
    assert f"batch {last}" in capsys.readouterr().out
    assert project.visible("versioned") == [-last]
    life.check(project.rows, ["versioned"])
