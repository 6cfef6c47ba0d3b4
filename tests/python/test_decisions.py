"""Promise 4: every staged row has exactly one decision, and those that applied are those that the ledger holds."""

from __future__ import annotations

import json

import pytest

from support.dbt_project import VIEW, DbtProject, given, model, values

pytestmark = pytest.mark.only("parquet")  # rules of rows, which no format changes

# name: block, id, version, is_deleted, payload; the place in the block is the place here
ARRIVALS = {
    "first": ("b1", 1, 2, False, "a"),
    "older": ("b1", 1, 1, False, "b"),
    "copy": ("b1", 1, 2, False, "a"),
    "other": ("b1", 1, 2, False, "c"),
    "late": ("b2", 1, 1, False, "d"),
    "delete": ("b2", 1, 3, True, "a"),
    "orphan": ("b2", 2, 1, True, "x"),
    "lone": ("b1", 3, 1, False, "k"),
    "replay": ("b2", 3, 1, False, "k"),
    "rival": ("b2", 3, 1, False, "m"),
    "waiting": ("b3", 4, 1, False, "z"),
    "no_key": ("b3", None, 1, False, "z"),
    "no_version": ("b3", 5, None, False, "z"),
    "no_flag": ("b3", 6, 1, None, "z"),
    "ended": ("b3", 4, None, True, "z"),
}
EVENTS = {"key": "id", "is_deleted": "is_deleted", "block": "block", "order_by": "position"}
LEDGERS = {
    "versioned": EVENTS | {"version": "version"},
    "unversioned": EVENTS | {"version": "version", "deletes": "unversioned"},
    "combined": EVENTS | {"version": "version", "combine": {"payload": "concat(old.payload, new.payload)"}},
    "combined_unversioned": EVENTS
    | {"version": "version", "deletes": "unversioned", "combine": {"payload": "concat(old.payload, new.payload)"}},
    "collapsed": EVENTS | {"engine": "collapsing"},
    "combined_collapsed": EVENTS | {"engine": "collapsing", "combine": {"payload": "concat(old.payload, new.payload)"}},
    "replaced": EVENTS | {"engine": "replacing", "version": "version"},
    "replaced_by_last": EVENTS | {"engine": "replacing"},
    "deduplicated": {"engine": "deduplicating", "key": "id", "block": "block", "order_by": "position"},
}
# What only --full shows: test_batch_equal.py has decisions upon unversioned deletes, test_engines.py replaces by the last and
# combines in the order of arrival.
LATER = ("unversioned", "replaced_by_last", "combined_collapsed")
UNREAD = {"waiting": "unread", "no_key": "null_key", "no_version": "null_version", "no_flag": "bad_sign", "ended": "null_version"}
BY_VERSION = {
    **{"first": "applied", "older": "superseded", "copy": "duplicate", "other": "tie", "late": "stale", "delete": "applied"},
    **{"orphan": "orphan_delete", "lone": "applied", "replay": "duplicate", "rival": "tie"},
}
BY_ARRIVAL = {
    **{"first": "superseded", "older": "superseded", "copy": "duplicate", "other": "applied"},
    **{"late": "superseded", "delete": "applied", "orphan": "orphan_delete"},
    **{"lone": "applied", "replay": "duplicate", "rival": "applied"},
}
WITHOUT_VERSIONS = UNREAD | {"no_version": "unread", "ended": "unread"}
EXPECTED = {
    "versioned": BY_VERSION | UNREAD,
    # a delete beside an upsert of its block only replaces, and needs no version
    "unversioned": BY_VERSION | UNREAD | {"delete": "superseded", "ended": "unread"},
    # both versions of a batch take part, and what they were combined to equals no event that comes again
    "combined": BY_VERSION | UNREAD | {"older": "applied", "replay": "tie"},
    "combined_unversioned": BY_VERSION
    | UNREAD
    | {"older": "applied", "replay": "tie", "delete": "superseded", "ended": "unread"},
    "collapsed": BY_ARRIVAL | WITHOUT_VERSIONS,
    # every event takes part, one that comes again too
    "combined_collapsed": dict.fromkeys(BY_ARRIVAL, "applied") | {"orphan": "orphan_delete"} | WITHOUT_VERSIONS,
    # of equal versions the last wins
    "replaced": BY_ARRIVAL | UNREAD | {"first": "tie", "late": "stale"},
    "replaced_by_last": BY_ARRIVAL | WITHOUT_VERSIONS,
    "deduplicated": dict.fromkeys(BY_VERSION, "duplicate")
    | {"first": "applied", "orphan": "applied", "lone": "applied"}
    | dict.fromkeys(UNREAD, "unread")
    | {"no_key": "null_key"},
}


# Blocks of one key, of which a delete repeats an earlier one.
AGAIN = "(1, 'b1', false), (2, 'b2', true), (3, 'b3', false), (4, 'b3', true)"


@pytest.fixture(scope="module")
def project(make_project, full: bool) -> DbtProject:
    """Fold block b1, then b2, never b3, which the ledger `again` alone has folded too."""
    ledgers = [name for name in LEDGERS if full or name not in LATER]
    rows = values((position, *row) for position, row in enumerate(ARRIVALS.values()))
    staged = f"select * from values {rows} as t (position, block, id, version, is_deleted, payload)"
    files = {f"models/{name}.sql": model("ledger(ref('stage'))", LEDGERS[name]) for name in ledgers}
    files |= {
        "models/stage.sql": f"{VIEW}select * from ({staged}) where block <= '{{{{ var('upto') }}}}'",
        "models/whole_stage.sql": VIEW + staged,
        "models/decided.sql": "{{ config(materialized='table') }}\n"
        + "\nunion all\n".join(
            f"select '{name}' as ledger, position, decision "
            f"from {{{{ collapsing.decisions(ref('{name}'), ref('whole_stage')) }}}}"
            for name in ledgers
        ),
        "models/again_stage.sql": f"{VIEW}select 1 as id, position, block, is_deleted, 'x' as payload "
        f"from values {AGAIN} as t (position, block, is_deleted) where block <= '{{{{ var('upto') }}}}'",
        "models/again.sql": model("ledger(ref('again_stage'))", LEDGERS["combined_collapsed"]),
        "models/again.yml": json.dumps(
            {"models": [{"name": "again", "data_tests": [{"collapsing.complete": given(stage="ref('again_stage')")}]}]}
        ),
    }
    project = make_project("decisions", files)
    again = "again_stage", "again"
    for block in ("b1", "b2"):
        project.run("run", "--select", "stage", *ledgers, *again, variables={"upto": block})
    project.run("run", "--select", "whole_stage", "decided", *again, variables={"upto": "b3"})
    return project


@pytest.fixture(scope="module")
def decided(project) -> dict[str, dict[str, str]]:
    """What is decided about each staged row, {ledger: {name of a staged row: its decision}}."""
    found: dict[str, dict[str, str]] = {}
    names = list(ARRIVALS)
    for ledger, position, decision in project.rows("select ledger, position, decision from decided"):
        name = names[position]
        assert name not in found.setdefault(ledger, {}), f"{ledger} decides twice about {name}"
        found[ledger][name] = decision
    return found


def test_each_staged_row_has_the_decision_that_its_engine_takes(decided, full: bool) -> None:
    assert decided == {name: EXPECTED[name] for name in LEDGERS if full or name not in LATER}


def test_a_delete_that_repeats_an_earlier_one_takes_part_in_a_combination(project) -> None:
    """Without `combine` it would be taken for the replay of a batch; here the key was live again just before it."""
    assert set(project.run("test", "--select", "again").values()) == {"pass"}
    assert project.rows(f"select decisions['applied'] from {project.notes('again', 'commit')} where batch = 3") == [(2,)]
    assert project.rows("select sum(ledger_sign) from again") == [(0,)]
