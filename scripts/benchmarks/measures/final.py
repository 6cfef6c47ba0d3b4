"""Every current row: `final` beside row_number over the stage and beside ClickHouse's FINAL on the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream import Stream
from turns import compare

if TYPE_CHECKING:
    from results import Results
    from session import Bench

SIZES = {
    "smoke": {"rows": 20_000, "rounds": 2},
    "default": {"rows": 1_000_000, "rounds": 5},
    "large": {"rows": 5_000_000, "rounds": 5},
}
TARGETS = ("parquet", "delta", "iceberg")
LOADS = 4  # before the optimize: all keys once, then as many random ones
SUMMED = "select count(*), sum(version), sum(metric1), sum(metric2), max(payload) from {}"
RANKED = "(select *, row_number() over (partition by id order by version desc) as place from stg_events)"


def run(bench: Bench, results: Results) -> None:
    """Compare the ways before an optimize, after it, and with a tenth of the keys in a later batch."""
    keys = results.setting["rows"]
    stream = Stream(bench, keys, keys)
    bench.clickhouse.create(())
    bench.run("stg_events")

    def fold() -> None:
        stream.land()
        bench.run("folded")
        bench.clickhouse.fold(stream.folder)

    def compare_all(what: str) -> None:
        ways = {
            "row_number over the stage": lambda: bench.sql(SUMMED.format(f"{RANKED} where place = 1 and not is_deleted")),
            "ClickHouse FINAL": lambda: bench.clickhouse.sql(SUMMED.format("folded final")),
            "final": lambda: bench.sql(SUMMED.format("folded_read")),
        }
        compare(bench, results, f"Every current row of {keys:,} keys: {what}", ways, ours="final")

    for _ in range(LOADS):
        fold()
    bench.run("folded_read")
    compare_all(f"{LOADS} batches, not optimized")
    ways = {"ClickHouse's": bench.clickhouse.optimize, "optimize": lambda: bench.optimize("folded")}
    compare(bench, results, "An optimize", ways, ours="optimize", rounds=1, warm_up=0)
    compare_all("optimized")
    stream.batch = keys // 10
    fold()
    compare_all("optimized, 10 % of the keys in a later batch")
