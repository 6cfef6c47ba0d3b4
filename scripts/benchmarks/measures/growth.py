"""What a batch costs as its ledger grows: the same batch into a ledger of so many keys, and of twenty times as many."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stream import Stream
from turns import compare

if TYPE_CHECKING:
    from results import Results
    from session import Bench

SIZES = {
    "smoke": {"rows": 2_000, "batch": 200, "rounds": 2},
    "default": {"rows": 100_000, "batch": 10_000, "rounds": 5},
    "large": {"rows": 1_000_000, "batch": 100_000, "rounds": 5},
}
TARGETS = ("parquet", "delta", "iceberg")
LEDGERS = {"b": 20, "a": 1}  # each with how many times as many keys it has
SUMS = "select dim1, count(*) as n, sum(metric1) as metric1, sum(metric2) as metric2 from ({}) group by dim1"
NEWEST = "select * from (select *, row_number() over (partition by id order by version desc) as place from {}) where place = 1"


def run(bench: Bench, results: Results) -> None:
    """Compare the sizes for keys in the order of time, for these with ten late ones, and for random ones."""
    keys, batch = results.setting["rows"], results.setting["batch"]
    streams = {name: Stream(bench, keys * factor, batch, "time", table=f"events_{name}") for name, factor in LEDGERS.items()}

    def run_of(name: str) -> Callable[[], None]:
        return lambda: bench.run(f"ledger_{name}", f"ledger_{name}_by_dim1")

    def check() -> None:
        for name in LEDGERS:
            projection = f"select dim1, n, metric1, metric2 from ledger_{name}_by_dim1_read"
            if not bench.is_equal(projection, SUMS.format(NEWEST.format(f"events_{name}"))):
                raise RuntimeError(f"the sums of ledger_{name} are not those of the newest events")

    ways = {f"{keys * factor:,} keys": run_of(name) for name, factor in LEDGERS.items()}

    def land() -> None:
        for stream in streams.values():
            stream.land()

    land()
    bench.run("path:models/pair")
    for order in ("time", "late", "random"):
        for stream in streams.values():
            stream.order = order
        compare(bench, results, f"A batch of {batch:,}, {order} keys", ways, before=land, after=check)
