"""Promise 2: signed rows and replacing give, row for row, what ClickHouse gives for FINAL and OPTIMIZE FINAL."""

from __future__ import annotations

import pytest
from clickhouse import KINDS, Differential, differing, project_files
from clickhouse_streams import Stream, block_table, collect, shrink


@pytest.fixture(scope="module")
def differential(make_project) -> Differential:
    return Differential(make_project("differential", project_files()))


@pytest.fixture(scope="module")
def observed(differential: Differential, full: bool):
    """Send generated streams through both sides; gives (streams, ClickHouse's rows, ours)."""
    streams = {kind: collect(kind, 2000 if full else 250, random_seed=20261121) for kind in KINDS}
    return streams, *differential.observe(streams)


@pytest.mark.parametrize("kind", KINDS)
def test_generated_streams_give_the_same_rows_after_every_block(differential, observed, kind: str) -> None:
    streams, theirs, ours = observed
    assert sum(len(rows) for rows in theirs[kind, "final", 3].values()) > len(streams[kind]) / 2, "rows should be left to compare"
    found = differing(theirs, ours, kind)
    if found:
        number, difference = next(iter(found.items()))

        def fails(candidates: list[Stream]) -> list[bool]:
            found = differing(*differential.observe({kind: candidates}), kind)
            return [number in found for number in range(len(candidates))]

        smallest = shrink(streams[kind][number], fails)
        shown = differing(*differential.observe({kind: [smallest]}), kind)
        pytest.fail(
            f"{len(found)} of {len(streams[kind])} streams differ; the first: {difference}\n"
            f"shrunk to {shown.get(0, 'a stream that no longer differs')}\n{block_table(smallest)}"
        )
