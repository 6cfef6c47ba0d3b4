"""Sums by a column of another table: a joined ledger and its projection beside the join of both finals, aggregated again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream import Stream
from turns import compare

if TYPE_CHECKING:
    from results import Results
    from session import Bench

SIZES = {
    "smoke": {"rows": 50_000, "rounds": 1},
    "default": {"rows": 1_000_000, "rounds": 5},
    "large": {"rows": 10_000_000, "rounds": 5},
}
TARGETS = ("parquet", "delta", "iceberg")
FACTS_OF_A_DIMENSION = 100  # as in the model stg_facts
REGIONS = 50
AGAIN, KEPT = "the finals, joined and aggregated again", "the joined ledger and its projection"
SUMS = "select region, n, metric1, metric2 from {}"


class Dimensions:
    """The events of the dimension: first all rows once, then a share of them with another region."""

    def __init__(self, bench: Bench, rows: int) -> None:
        self._bench, self._rows, self._landed = bench, rows, 0
        bench.sql("create table dimension_events (id bigint, version bigint, region string, load string) using parquet")

    def land(self, percent: int) -> None:
        """Stage every row, or so many of a hundred."""
        self._landed += 1
        region = f"concat('r', pmod(xxhash64(id, {self._landed}), {REGIONS}))"
        self._bench.sql(
            f"insert into dimension_events select id, {self._landed}, {region}, 'l{self._landed:04}' "
            f"from range({self._rows}) where pmod(xxhash64(id, {self._landed}, 1), 100) < {percent}"
        )


def run(bench: Bench, results: Results) -> None:
    """Compare both after changes of few and of more facts, and of few and of many rows of the dimension."""
    rows = results.setting["rows"]
    dimension = rows // FACTS_OF_A_DIMENSION
    stream, dimensions = Stream(bench, rows, rows // 1000), Dimensions(bench, dimension)
    stream.land()
    dimensions.land(100)
    bench.run("path:models/joins")
    ways = {AGAIN: lambda: bench.run("joined_again"), KEPT: lambda: bench.run("wide", "wide_by_region")}

    def check() -> None:
        if not bench.is_equal(SUMS.format("wide_by_region_read"), SUMS.format("joined_again")):
            raise RuntimeError("the sums of the joined ledger are not those of the join")

    def land_facts() -> None:
        stream.land()
        bench.run("facts")

    for share, batch in (("0.1 %", rows // 1000), ("1 %", rows // 100)):
        stream.batch = batch
        title = f"{share} of {rows:,} facts change, none of {dimension:,} rows of the dimension"
        compare(bench, results, title, ways, before=land_facts, after=check)
    for percent in (1, 20):

        def land_dimensions(percent: int = percent) -> None:
            dimensions.land(percent)
            bench.run("dimensions")

        title = f"{percent} % of {dimension:,} rows of the dimension change, none of {rows:,} facts"
        compare(bench, results, title, ways, before=land_dimensions, after=check)
