"""A working day: batches, after each of them ten readings of a projection and one of every row, and the upkeep of the tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.progress import track

from results import Comparison
from stream import Stream
from turns import shown

if TYPE_CHECKING:
    from results import Results
    from session import Bench

SIZES = {
    "smoke": {"rows": 20_000, "batch": 1_000, "batches": 2, "order": "random", "deletes": 0},
    "default": {"rows": 500_000, "batch": 10_000, "batches": 20, "order": "random", "deletes": 0},
    "large": {"rows": 5_000_000, "batch": 100_000, "batches": 100, "order": "random", "deletes": 0},
}
TARGETS = ("parquet", "delta", "iceberg")
READINGS = 10
UPKEEP = 25  # after so many batches, and at the end of the day
SUMS = "select dim1, n, metric1, metric2 from {} order by dim1"
EVERY_ROW = "select count(*), sum(version), sum(metric1), sum(metric2), max(payload) from {}"


@dataclass
class Way:
    """How a day is worked through: by which models, over which views, what is read, and by what the tables are kept in order."""

    name: str
    models: list[str]
    views: list[str]
    sums: str
    rows: str
    upkeep: Callable[[], object]


def run(bench: Bench, results: Results) -> None:
    """Let the package and its peer take turns, batch by batch."""
    given = results.setting
    stream = Stream(bench, given["rows"], given["batch"], given["order"], given["deletes"])
    ways = [_ours(bench), _peer(bench)]
    kinds = {
        "batches": f"{given['batches']} batches of {given['batch']:,} into {given['rows']:,} keys",
        "sums": f"{READINGS} readings of the sums after each batch",
        "rows": "one reading of every row after each batch",
        "upkeep": f"upkeep after {UPKEEP} batches and at the end",
    }
    took = {kind: {way.name: {} for way in ways} for kind in kinds}
    meter, answers = bench.meter(), {}

    def measure(kind: str, way: Way, work: Callable[[], object], counts: bool) -> object:
        meter.begin()
        answer = work()
        for cost, value in meter.end().items() if counts else ():
            took[kind][way.name].setdefault(cost, []).append(value)
        return answer

    bench.run("stg_events")
    for number in track(range(-1, given["batches"] + 1), "batches", console=bench.console):
        stream.land()
        counts = number > 0  # the first load comes before the day, and the next batch warms up
        for way in ways[:: -1 if number % 2 else 1]:
            models = way.models + way.views * (number == -1)
            measure("batches", way, lambda way=way, models=models: bench.run(*models, load=stream.load), counts)
            sums = [measure("sums", way, lambda way=way: bench.sql(SUMS.format(way.sums)), counts) for _ in range(READINGS)]
            rows = measure("rows", way, lambda way=way: bench.sql(EVERY_ROW.format(way.rows)), counts)
            answers[way.name] = (sums, rows)
        if any(answer != answers[ways[0].name] for answer in answers.values()):
            raise RuntimeError(f"the answers after batch {number} differ: {answers}")
        if counts and (number % UPKEEP == 0 or number == given["batches"]):
            for way in ways:
                measure("upkeep", way, way.upkeep, counts)

    base = ways[0].name
    whole = {way.name: _added_up([took[kind][way.name] for kind in kinds]) for way in ways}
    results.comparisons.append(Comparison(f"A working day: {kinds['batches']}", base, whole, base))
    for kind, title in kinds.items():
        results.comparisons.append(Comparison(f"Of it {title}", base, took[kind], base))
    for comparison in results.comparisons:
        bench.console.print(shown(comparison))


def _added_up(kinds: list[dict[str, list[float]]]) -> dict[str, list[float]]:
    """Return a day's costs as those of one round: the most memory, and the sum of all else."""
    return {cost: [(max if cost == "peak MB" else sum)(value for kind in kinds for value in kind[cost])] for cost in kinds[0]}


def _ours(bench: Bench) -> Way:
    """Return the way of the package."""
    models, views = ["folded", "folded_by_dim1"], ["folded_read", "folded_by_dim1_read"]
    return Way("collapsing", models, views, "folded_by_dim1_read", "folded_read", lambda: bench.optimize("folded"))


def _peer(bench: Bench) -> Way:
    """Return the usual way of the format: a merge, and on plain parquet, which has none, an append; the sums are rebuilt."""
    if bench.target == "parquet":
        models = ["appended", "newest_by_dim1"]
        return Way(
            "append and row_number, no upkeep", models, ["newest"], "newest_by_dim1", "newest where not is_deleted", lambda: None
        )
    upkeep = {
        "delta": "optimize merged",
        "iceberg": f"call spark_catalog.system.rewrite_data_files(table => '{bench.schema}.merged')",
    }[bench.target]
    name = {"delta": "merge, deletion vectors on", "iceberg": "merge, merge-on-read"}[bench.target]
    return Way(name, ["merged", "merged_by_dim1"], [], "merged_by_dim1", "merged where not is_deleted", lambda: bench.sql(upkeep))
