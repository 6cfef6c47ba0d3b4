"""The first load of a ledger and a projection beside those of `merge` and a plain insert, each with an aggregate, by dbt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results import Comparison
from stream import Stream
from turns import compare, shown

if TYPE_CHECKING:
    from results import Results
    from session import Bench

SIZES = {
    "smoke": {"rows": 50_000, "rounds": 2, "peers": "all"},
    "default": {"rows": 1_000_000, "rounds": 5, "peers": "all"},
    "large": {"rows": 5_000_000, "rounds": 5, "peers": "all"},
}
TARGETS = ("parquet", "delta", "iceberg")
OURS, ON_PARQUET = "collapsing", "collapsing, on plain parquet"
CHOICES = ("merge", "plain", "none")
# {peer: (its models, what it is called)}
PEERS = {
    "merge": (("merged", "merged_by_dim1"), "merge, and an aggregate"),
    "plain": (("plain", "plain_by_dim1"), "a plain insert with row_number, and an aggregate"),
}
ROWS = "select id, version, dim1, dim2, kind, metric1, metric2, payload from {}"


def peers_on(target: str) -> tuple[str, ...]:
    """Return the peers that a target has; with none the package is alone, and the memory is that of its loads."""
    return ("plain", "none") if target == "parquet" else CHOICES


def run(bench: Bench, results: Results) -> None:
    """Let all load the same rows, each time into tables that are not there."""
    asked = results.setting["peers"]
    peers = [PEERS[name] for name in peers_on(bench.target) if name in PEERS and asked in ("all", name)]
    stream = Stream(bench, results.setting["rows"], 0)
    stream.land()
    bench.run("stg_events")
    ways = {name: lambda models=models: bench.run(*models, load=stream.load) for models, name in peers}
    if bench.target != "parquet" and asked != "none":
        ways[ON_PARQUET] = lambda: bench.run("parquet_ledger", "parquet_ledger_by_dim1")
    ways[OURS] = lambda: bench.run("folded", "folded_by_dim1")

    def forget() -> None:
        for name in ("folded", "merged", "plain", "parquet_ledger"):
            bench.drop(name)

    def check() -> None:
        bench.run("folded_read", "folded_by_dim1_read")
        for (table, sums), _ in peers:
            ours, its = ROWS.format("folded_read"), ROWS.format(f"{table} where not is_deleted")
            ours_sums, its_sums = (f"select dim1, n, metric1, metric2 from {name}" for name in ("folded_by_dim1_read", sums))
            if not bench.is_equal(ours, its) or not bench.is_equal(ours_sums, its_sums):
                raise RuntimeError(f"final and {table}, or their sums, differ")

    title = f"The first load of {results.setting['rows']:,} rows, with one projection"
    found = compare(bench, results, title, ways, ours=OURS, before=forget, after=check)
    if ON_PARQUET in ways:  # it is ours too, and the peers' rival
        ours = {ON_PARQUET: found.ways.pop(ON_PARQUET)}
        peers_ways = {name: costs for name, costs in found.ways.items() if name != OURS}
        results.comparisons.append(Comparison(title, ON_PARQUET, peers_ways | ours, ON_PARQUET))
        bench.console.print(shown(results.comparisons[-1]))
