"""Sums that are kept: reading them beside adding up `final`, and keeping three of them beside ClickHouse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bare import Bare
from stream import GROUPS, Stream
from turns import compare

if TYPE_CHECKING:
    from results import Results
    from session import Bench

SIZES = {
    "smoke": {"rows": 20_000, "batch": 2_000, "order": "random", "deletes": 0, "rounds": 1},
    "default": {"rows": 1_000_000, "batch": 100_000, "order": "random", "deletes": 0, "rounds": 5},
    "large": {"rows": 5_000_000, "batch": 100_000, "order": "random", "deletes": 0, "rounds": 5},
}
TARGETS = ("parquet", "delta", "iceberg")
CLICKHOUSE = "ClickHouse, the article's view"
ADDED_UP = "select {0}, count(*) as n, sum(metric1), sum(metric2) from folded_read group by {0} order by {0}"
KEPT = "select {0}, n, metric1, metric2 from folded_by_{0}_read order by {0}"


def run(bench: Bench, results: Results) -> None:
    """Compare the readings after a few batches, and then what a batch costs."""
    given = results.setting
    stream = Stream(bench, given["rows"], given["batch"], given["order"], given["deletes"])
    bench.clickhouse.create(GROUPS)
    models = ["folded", *(f"folded_by_{group}" for group in GROUPS)]
    for _ in range(3):
        stream.land()
        bench.run("stg_events", *models)
        bench.clickhouse.fold(stream.folder)
    bench.run("path:models/events")
    for group in GROUPS:
        ways = {
            "an aggregate of final": lambda group=group: bench.sql(ADDED_UP.format(group)),
            CLICKHOUSE: lambda group=group: bench.clickhouse.sums(group),
            "the projection": lambda group=group: bench.sql(KEPT.format(group)),
        }
        compare(bench, results, f"Reading the sums by {group} of {given['rows']:,} keys", ways, ours="the projection")
    bare = Bare(bench, GROUPS)

    def land() -> None:
        stream.land()
        bare.compile()

    def check() -> None:
        bare.check()
        for group in GROUPS:
            if bench.sql(KEPT.format(group)) != bench.clickhouse.sums(group):
                raise RuntimeError(f"the sums by {group} of ClickHouse differ")

    ways = {
        "a run of dbt": lambda: bench.run(*models),
        "the same, bare SQL": bare.run,
        CLICKHOUSE: lambda: bench.clickhouse.fold(stream.folder),
    }
    title = f"A batch of {given['batch']:,} into {given['rows']:,} keys and three projections, {given['order']}"
    compare(bench, results, title, ways, before=land, after=check)
