"""Promise 2: signed rows and replacing give exactly what ClickHouse gives for FINAL and OPTIMIZE FINAL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from support.clickhouse import KINDS, Differential, differing, project_files
from support.clickhouse_scenarios import Scenario, read
from support.clickhouse_streams import Row, Stream, block_table, shrink, strategies
from support.streams import collect, one_shot

pytestmark = pytest.mark.only("parquet")  # rules of rows, which no format changes

# How many streams of each kind are generated, and into how many blocks they are cut: {--full: number}.
GENERATED = {False: 100, True: 2000}
BLOCKS = {False: 3, True: 4}
# What the default run leaves to --full: kinds whose ledgers other files compare with rows written down or made in Python, and all
# blocks as one batch.
REPEATING = ("replacing_last", "events", "unversioned_deletes")


def each(kinds: Iterable[str]) -> list:
    """Return kinds as the cases of a test."""
    return [pytest.param(kind, marks=[pytest.mark.full] if kind in REPEATING else []) for kind in kinds]


@pytest.fixture(scope="module")
def differential(make_project) -> Differential:
    return Differential(make_project("differential", project_files()))


SCENARIOS = {kind: read(kind, how.compared.split(", ")) for kind, how in KINDS.items() if how.engine}


def _scenarios(kind: str, full: bool) -> list[Scenario]:
    """Return the scenarios of a kind; the few that take more blocks than the streams only in the full run."""
    return [scenario for scenario in SCENARIOS[kind] if full or len(scenario.stream) <= BLOCKS[full]]


# Streams with deletes and replays that the article's rule ends wrong, and what is right: {id: version} of the live rows.
WRONG = {
    "an update that is older than the delete arrives after it": (
        ((Row(0, 1, 1),), (Row(0, 3, 0, is_deleted=1),), (Row(0, 2, 2),)),
        {},
    ),
    "the insert is replayed after the delete": (((Row(0, 1, 1),), (Row(0, 2, 0, is_deleted=1),), (Row(0, 1, 1),)), {}),
    "the delete arrives before the insert": (((Row(0, 2, 0, is_deleted=1),), (Row(0, 1, 1),)), {}),
    "the delete is older than the row, and arrives late": (((Row(0, 3, 3),), (Row(0, 2, 0, is_deleted=1),)), {0: 3}),
    "the delete is replayed after the key came back": (
        ((Row(0, 1, 1),), (Row(0, 2, 0, is_deleted=1),), (Row(0, 3, 3),), (Row(0, 2, 0, is_deleted=1),)),
        {0: 3},
    ),
    "delete and older insert in one block": (((Row(0, 1, 1), Row(0, 2, 0, is_deleted=1)),), {}),
    "the first version is 0": (((Row(0, 0, 5),),), {0: 0}),
}


@pytest.fixture(scope="module")
def observed(differential: Differential, full: bool):
    """Send streams through both sides; returns (streams, ClickHouse's rows, ours).

    Of each kind first the generated ones, then ClickHouse's own scenarios, or for `events` those of WRONG.
    """
    drawn = strategies(BLOCKS[full])
    kinds = [kind for kind in KINDS if full or kind not in REPEATING]
    streams = {kind: collect(drawn[kind], GENERATED[full], random_seed=20261121) for kind in kinds}
    for kind in [kind for kind in kinds if kind in SCENARIOS]:
        streams[kind] += [scenario.stream for scenario in _scenarios(kind, full)]
    if full:
        streams["events"] += [stream for stream, _ in WRONG.values()]
    return streams, *differential.observe(streams, KINDS if full else ())


@pytest.mark.parametrize("kind", each(KINDS))
def test_generated_streams_give_the_same_rows_after_every_block(differential, observed, full: bool, kind: str) -> None:
    streams, theirs, ours = observed
    generated, last = GENERATED[full], BLOCKS[full] - 1
    assert sum(len(rows) for rows in theirs[kind, "final", last].values()) > generated / 2, "rows should be left to compare"
    found = differing(theirs, ours, kind)
    found = {number: said for number, said in found.items() if number < generated}
    if found:
        number, difference = next(iter(found.items()))

        def fails(candidates: list[Stream]) -> list[bool]:
            found = differing(*differential.observe({kind: candidates}), kind)
            return [number in found for number in range(len(candidates))]

        smallest = shrink(streams[kind][number], fails)
        shown = differing(*differential.observe({kind: [smallest]}), kind)
        pytest.fail(
            f"{len(found)} of {generated} streams differ; the first: {difference}\n"
            f"shrunk to {shown.get(0, 'a stream that no longer differs')}\n{block_table(smallest)}"
        )


@pytest.mark.parametrize("kind", each(SCENARIOS))
@pytest.mark.parametrize("side", ["clickhouse", "ours"])
def test_clickhouse_own_scenarios_leave_the_rows_that_their_sources_state(observed, full: bool, kind: str, side: str) -> None:
    _, theirs, ours = observed
    seen_on_side = theirs if side == "clickhouse" else ours
    compared = KINDS[kind].compared.split(", ")
    wrong = []
    for number, scenario in enumerate(_scenarios(kind, full), start=GENERATED[full]):
        for (form, block), expected in scenario.expected.items():
            seen = scenario.as_rows(seen_on_side[kind, form, block - 1].get(number, Counter()), compared)
            if seen != expected:
                wrong.append(f"{scenario.name}, {form} after block {block}: expected {expected}, found {seen}")
    assert len(_scenarios(kind, full)) > (20 if full else 15)
    assert not wrong, "\n".join(wrong)


@pytest.mark.full
def test_where_the_articles_rule_is_wrong_ours_is_the_one_shot_answer(observed) -> None:
    _, theirs, ours = observed
    last = max(number for kind, form, number in ours if (kind, form) == ("events", "final"))
    lines, wrong = [], []
    for number, (name, (stream, right)) in enumerate(WRONG.items(), start=GENERATED[True]):
        seen = [
            {int(row[0]): int(row[1]) for row in side["events", "final", last].get(number, Counter())} for side in (theirs, ours)
        ]
        lines.append(f"{name}: ClickHouse {seen[0]}, ours {seen[1]}, one shot {right}")
        one_look = {id_: row.version for id_, row in one_shot(row for block in stream for row in block).items()}
        if seen[0] == right or seen[1] != right or one_look != right:
            wrong.append(lines[-1])
    print("\n".join(lines))
    assert not wrong, "\n".join(wrong)


def test_a_failing_stream_is_shrunk_to_the_rows_that_make_it_fail() -> None:
    # said to fail: a delete of key 0 that comes in an earlier block than a row of key 0 with a lower version
    def fails(candidates: list[Stream]) -> list[bool]:
        return [
            any(
                early.is_deleted and early.id == late.id == 0 and late.version < early.version
                for number, block in enumerate(stream)
                for early in block
                for later in stream[number + 1 :]
                for late in later
            )
            for stream in candidates
        ]

    culprits = Row(0, 2, 7, is_deleted=1), Row(0, 1, None)
    noise = [Row(1, version, version) for version in range(5)]
    stream = ((noise[0], culprits[0]), (), (noise[1], noise[2]), (noise[3], culprits[1], noise[4]))
    assert shrink(stream, fails) == ((culprits[0],), (culprits[1],))
    assert block_table(shrink(stream, fails)) == (
        "step,position,id,version,payload,sign,is_deleted\n1,1,0,2,7,1,1\n2,1,0,1,,1,0\n"
    )
