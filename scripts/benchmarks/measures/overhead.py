"""What dbt and the package add to the SQL of a small batch, and what a run costs that finds nothing new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bare import Bare
from stream import GROUPS, Stream
from turns import compare

if TYPE_CHECKING:
    from results import Results
    from session import Bench

SIZES = {
    "smoke": {"rows": 20_000, "batch": 500, "rounds": 2},
    "default": {"rows": 330_000, "batch": 3_000, "rounds": 10},
    "large": {"rows": 5_000_000, "batch": 3_000, "rounds": 10},
}
TARGETS = ("parquet", "delta", "iceberg")


def run(bench: Bench, results: Results) -> None:
    """Compare a run of a ledger and three projections with a view's, and then with the bare SQL of its fold and sums."""
    given = results.setting
    stream = Stream(bench, given["rows"], given["batch"])
    models = ["folded", *(f"folded_by_{group}" for group in GROUPS)]
    stream.land()
    bench.run("stg_events", *models)
    ways = {
        "a ledger and three projections": lambda: bench.run(*models),
        "a view": lambda: bench.run("nothing"),
    }
    compare(bench, results, "A run with nothing new", ways)
    bare = Bare(bench, GROUPS)

    def land() -> None:
        stream.land()
        bare.compile()

    ways = {
        "a run of dbt": lambda: bench.run(*models),
        "the same, bare SQL": bare.run,
    }
    title = f"A batch of {given['batch']:,} into {given['rows']:,} keys and three projections"
    compare(bench, results, title, ways, before=land, after=bare.check)
