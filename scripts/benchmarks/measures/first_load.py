"""The first fold of a ledger beside a plain insert of the newest row of each key, as whole runs of dbt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream import Stream
from turns import compare

if TYPE_CHECKING:
    from results import Results
    from session import Bench

SIZES = {
    "smoke": {"rows": 50_000, "rounds": 2},
    "default": {"rows": 1_000_000, "rounds": 5},
    "large": {"rows": 5_000_000, "rounds": 5},
}
TARGETS = ("parquet", "delta", "iceberg")
ROWS = "select id, version, dim1, dim2, kind, metric1, metric2, payload from {}"


def run(bench: Bench, results: Results) -> None:
    """Let both load the same rows, each time into tables that are not there."""
    Stream(bench, results.setting["rows"], 0).land()
    bench.run("stg_events")

    def forget() -> None:
        for name in ("folded", "plain"):
            bench.drop(name)

    def check() -> None:
        bench.run("folded_read")
        if not bench.is_equal(ROWS.format("folded_read"), ROWS.format("plain where not is_deleted")):
            raise RuntimeError("final and the plain table have different rows")

    ways = {
        "a plain insert with row_number": lambda: bench.run("plain"),
        "the first fold": lambda: bench.run("folded"),
    }
    title = f"The first load of {results.setting['rows']:,} rows"
    compare(bench, results, title, ways, base="a plain insert with row_number", ours="the first fold", before=forget, after=check)
