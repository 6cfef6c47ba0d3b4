"""Promise 1: after any split, order, replay and mix of deletes, final and projections equal the one-shot answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from functools import partial

import pytest
from pyspark.sql import SparkSession

from support.dbt_project import VIEW, model
from support.streams import Stream, collect, combined, one_shot, unversioned
from support.streams import streams as drawn

BLOCKS = {False: 3, True: 4}  # of a stream, {--full: number}
SCHEMA = "stream int, id int, version bigint, is_deleted boolean, place string, amount int, price decimal(38, 18), block int"

VERSIONED = {"key": ["stream", "id"], "version": "version", "is_deleted": "is_deleted", "block": "block"}
ledger = partial(model, "ledger(ref('events'))")
PROJECTION = """{{{{ config(meta={{'collapsing': {{
    'group_by': {{'stream': 'stream', 'place': 'place', 'even': 'version % 2 = 0'}},
    'measures': {{
        'n': 'count(*)', 'amounts': 'count(amount)', 'total': 'sum(amount)', 'mean': 'avg(amount)', 'price': 'sum(price)',
        'large': 'count_if(amount > 5)', 'later': 'sum(amount) filter (where id > 0)', 'newest': 'max(version)',
        'least': 'min(amount)'
    }}}}}}) }}}}
{{{{ collapsing.projection(ref('{ledger}')) }}}}
"""

LEDGERS = {
    "by_block": VERSIONED,
    "by_two": VERSIONED,
    "at_once": VERSIONED,
    "without_token": {name: value for name, value in VERSIONED.items() if name != "block"},
    "deletes_on_arrival": VERSIONED | {"deletes": "unversioned"},
    "merged": VERSIONED | {"combine": {"amount": "greatest(new.amount, old.amount)", "place": "coalesce(new.place, old.place)"}},
}
PROJECTED = ("by_block", "by_two", "at_once")
DECIDED = ("by_block", "by_two", "at_once", "deletes_on_arrival")
# What only --full folds: ledgers and projections.
LATER = ("by_two", "without_token", "merged", "places_by_two", "places_at_once")


def each(names: Iterable[str], kind: str = "") -> list:
    """Return the ledgers, or the projections, of a test as its cases; `kind` begins the names of the models."""
    return [pytest.param(name, marks=[pytest.mark.full] if kind + name in LATER else []) for name in names]


def _files(full: bool) -> dict[str, str]:
    """Return the models of the ledgers, their projections, and what is read of them all."""
    ledgers = [name for name in LEDGERS if full or name not in LATER]
    projected = [name for name in PROJECTED if full or f"places_{name}" not in LATER]
    return {
        "models/events.sql": VIEW + "select * from {{ target.schema }}.arrived",
        **{f"models/{name}.sql": ledger(LEDGERS[name]) for name in ledgers},
        **{f"models/places_{name}.sql": PROJECTION.format(ledger=name) for name in projected},
        "models/finals.sql": "\nunion all\n".join(
            f"select '{name}' as ledger, stream, id, version, place, amount, price from {{{{ collapsing.final(ref('{name}')) }}}}"
            for name in ledgers
        ),
        "models/decided.sql": "{{ config(materialized='table', file_format='parquet') }}\n"
        + "\nunion all\n".join(
            f"select '{name}' as ledger, decision, stream, id, version, is_deleted, ledger_batch "
            f"from {{{{ collapsing.decisions(ref('{name}'), ref('events')) }}}}"
            for name in DECIDED
            if name in ledgers
        ),
        "models/places.sql": "\nunion all\n".join(
            f"select '{name}' as ledger, * from {{{{ collapsing.final(ref('places_{name}')) }}}}" for name in projected
        ),
    }


@pytest.fixture(scope="module")
def folded(make_project, full: bool):
    """Fold streams block by block, all at once and, with --full, two blocks at a time; returns (project, streams)."""
    files = _files(full)
    project = make_project("streams", files)
    streams = collect(drawn(BLOCKS[full]), 2000 if full else 150, random_seed=20261121)
    for number in range(BLOCKS[full]):
        last = number == BLOCKS[full] - 1
        _land(project, streams, number)
        ledgers = ["by_block", "merged"]
        ledgers += ["deletes_on_arrival", "without_token"] if full or number == 0 or last else []
        ledgers += ["by_two"] if number % 2 or last else []
        ledgers += ["at_once"] if last else []
        models = [*ledgers, *(f"places_{name}" for name in ledgers)]
        project.run("run", "--select", *["events"][number:], *[name for name in models if f"models/{name}.sql" in files])
    project.run("run", "--select", "finals", "places", "decided")
    return project, streams


def _land(project, streams: list[Stream], number: int) -> None:
    """Append every stream's block `number` to the table under the stage."""
    rows = [
        (stream, e.id, e.version, e.is_deleted, e.place, e.amount, e.price, number)
        for stream, blocks in enumerate(streams)
        for e in blocks[number]
    ]
    project.sql(f"create schema if not exists {project.schema}")
    frame = SparkSession.builder.getOrCreate().createDataFrame(rows, SCHEMA)
    frame.coalesce(1).write.mode("append").saveAsTable(f"{project.schema}.arrived")


def _events(stream: Stream) -> list:
    return [event for block in stream for event in block]


def _differing(found: Counter, expected: Counter) -> str:
    """Return the rows of the streams that differ, as text for a failed assertion; empty when there is none."""
    return f"missing {list((expected - found).items())[:5]}, extra {list((found - expected).items())[:5]}" * (found != expected)


@pytest.mark.parametrize("ledger", each(["by_block", "by_two", "at_once", "without_token"]))
def test_final_equals_the_one_shot_answer(folded, ledger: str) -> None:
    project, streams = folded
    found = Counter(project.rows(f"select stream, id, version, place, amount, price from finals where ledger = '{ledger}'"))
    expected = Counter(
        (number, e.id, e.version, e.place, e.amount, e.price)
        for number, stream in enumerate(streams)
        for e in one_shot(_events(stream)).values()
    )
    assert sum(expected.values()) > len(streams) / 2, "the streams should leave rows to compare"
    assert not _differing(found, expected)


@pytest.mark.parametrize("ledger", each(PROJECTED, "places_"))
def test_projection_equals_the_aggregate_of_the_one_shot_answer(folded, ledger: str) -> None:
    project, streams = folded
    found = Counter(
        project.rows(
            "select stream, place, even, n, amounts, total, mean, price, large, later, newest, least "
            f"from places where ledger = '{ledger}'"
        )
    )
    groups: dict[tuple, list] = {}
    for number, stream in enumerate(streams):
        for e in one_shot(_events(stream)).values():
            groups.setdefault((number, e.place, e.version % 2 == 0), []).append(e)
    expected = Counter()
    for group, events in groups.items():
        amounts = [e.amount for e in events if e.amount is not None]
        prices = [e.price for e in events if e.price is not None]
        total = sum(amounts) if amounts else None
        mean = sum(amounts) / len(amounts) if amounts else None
        price = sum(prices, Decimal(0)) if prices else None
        large = sum(amount > 5 for amount in amounts)
        later = [e.amount for e in events if e.amount is not None and e.id > 0]
        measured = (large, sum(later) if later else None, max(e.version for e in events), min(amounts, default=None))
        expected[(*group, len(events), len(amounts), total, mean, price, *measured)] += 1
    assert not _differing(found, expected)


def test_unversioned_deletes_follow_arrival(folded) -> None:
    project, streams = folded
    found = Counter(project.rows("select stream, id, version from finals where ledger = 'deletes_on_arrival'"))
    expected = Counter((number, e.id, e.version) for number, stream in enumerate(streams) for e in unversioned(stream).values())
    assert not _differing(found, expected)


@pytest.mark.full
def test_combine_folds_one_after_another(folded) -> None:
    project, streams = folded
    found = Counter(project.rows("select stream, id, amount, place from finals where ledger = 'merged'"))
    expected = Counter(
        (number, key, amount, place) for number, stream in enumerate(streams) for key, (amount, place) in combined(stream).items()
    )
    assert not _differing(found, expected)


@pytest.mark.parametrize("ledger", each(LEDGERS))
def test_every_cancel_row_copies_one_state_row(folded, ledger: str) -> None:
    project, _ = folded
    columns = "stream, id, version, place, amount, price"
    orphans = project.rows(
        f"select {columns} from {ledger} where ledger_sign = -1 except all select {columns} from {ledger} where ledger_sign = 1"
    )
    assert orphans == []


@pytest.mark.parametrize("ledger", each(DECIDED))
def test_decisions_add_up_to_the_rows_staged_and_agree_with_the_ledger(folded, ledger: str) -> None:
    project, streams = folded
    staged = sum(len(_events(stream)) for stream in streams)
    counts = dict(project.rows(f"select decision, count(*) from decided where ledger = '{ledger}' group by decision"))
    assert sum(counts.values()) == staged
    # a single batch has no stored row that is newer
    met = {"applied", "duplicate", "superseded", "orphan_delete"} | ({"stale"} if ledger != "at_once" else set())
    assert set(counts) - {"tie"} == met
    # a row that the ledger has appended for itself, not to cancel another, is one that applied; and the other way round
    of_rows = "stream, id, version, ledger_batch"
    applied = f"select {of_rows}, is_deleted from decided where ledger = '{ledger}' and decision in ('applied', 'orphan_delete')"
    if ledger == "deletes_on_arrival":
        applied += " and not is_deleted"  # such a delete leaves no row of its own
    # notes have no key
    appended = f"select {of_rows}, ledger_sign = 0 from {ledger} where ledger_sign <> -1 and stream is not null"
    assert project.rows(f"({applied}) except all ({appended})") == []
    assert project.rows(f"({appended}) except all ({applied})") == []


@pytest.mark.full
def test_a_block_is_folded_once(folded) -> None:
    project, streams = folded
    before = project.rows("select count(*), max(ledger_batch) from by_block")
    project.run("run", "--select", "by_block", "places_by_block")
    assert project.rows("select count(*), max(ledger_batch) from by_block") == before
    blocks = project.rows(f"select block, count(*) from {project.notes('by_block', 'block')} group by block order by block")
    assert blocks == [(str(number), 1) for number in range(len(streams[0]))]
