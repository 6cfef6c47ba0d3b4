"""A small run with Spark's and Delta's default partitions beside one with few, and what its models add to their inserts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from results import Comparison
from stream import Stream
from turns import compare, shown

if TYPE_CHECKING:
    from results import Results
    from session import Bench

SIZES = {
    "smoke": {"rows": 2_000, "batch": 100, "rounds": 2, "warm_up": 1},
    "default": {"rows": 100_000, "batch": 1_000, "rounds": 5, "warm_up": 10},
    "large": {"rows": 330_000, "batch": 3_000, "rounds": 10, "warm_up": 10},
}
TARGETS = ("parquet", "delta", "iceberg")
# Each ledger with its shuffle partitions, and those of a Delta log: the defaults, and what suits small tables.
LEDGERS = {"a": (200, 50), "b": (4, 2)}


def run(bench: Bench, results: Results) -> None:
    """Let two ledgers of the same events take turns, each with a projection."""
    given = results.setting
    streams = [Stream(bench, given["rows"], given["batch"], table=f"events_{name}") for name in LEDGERS]
    files: dict[str, list[float]] = {name: [] for name in LEDGERS}
    parts: dict[str, list[float]] = {}

    def run_of(name: str) -> Callable[[], None]:
        def way() -> None:
            bench.use_partitions(*LEDGERS[name])
            bench.run(f"ledger_{name}", f"ledger_{name}_by_dim1")
            if bench.spark.conf.get("spark.sql.shuffle.partitions") != str(LEDGERS[name][0]):
                raise RuntimeError("dbt has not taken the shuffle partitions from its profile")
            for model, seconds in bench.models.items():
                parts.setdefault(model, []).append(seconds)
                parts.setdefault(f"{model}: inserts", []).append(bench.seconds_of_inserts(model))

        return way

    def land() -> None:
        for stream in streams:
            stream.land()

    def check() -> None:
        for name in LEDGERS:
            batch = f"(select input_file_name() as file from ledger_{name} where ledger_batch = {streams[0].landed})"
            files[name].append(bench.sql(f"select count(distinct file) from {batch}")[0][0])
        if not bench.is_equal(*(f"select dim1, n, metric1, metric2 from ledger_{name}_by_dim1_read" for name in LEDGERS)):
            raise RuntimeError("the sums of the two ledgers differ")

    land()
    bench.run("path:models/pair")
    title = f"A small run: {given['batch']:,} events into {given['rows']:,} keys, with a projection"
    of_logs = ", {} of a log" if bench.target == "delta" else ""
    named = {name: f"{shuffles} shuffle partitions" + of_logs.format(logs) for name, (shuffles, logs) in LEDGERS.items()}
    ways = {named[name]: run_of(name) for name in LEDGERS}
    found = compare(bench, results, title, ways, warm_up=given["warm_up"], before=land, after=check)
    for costs, name in zip(found.ways.values(), LEDGERS, strict=True):
        costs["files of its batch"] = files[name][given["warm_up"] :]
        bench.console.print(f"{named[name]}: files of a batch {costs['files of its batch']}")
    for what, model in (("The ledger", "ledger_b"), ("The projection", "ledger_b_by_dim1")):
        ways = {"the model": parts[model], "its inserts alone": parts[f"{model}: inserts"]}
        timed = {way: {"seconds": seconds[given["warm_up"] :]} for way, seconds in ways.items()}
        results.comparisons.append(Comparison(f"{what} of a small run, 4 shuffle partitions", "its inserts alone", timed))
        bench.console.print(shown(results.comparisons[-1]))
