"""Sums by a column of another table: a joined ledger and its projection beside the join aggregated again, and beside MERGE."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stream import Stream
from turns import compare, shown_parts

if TYPE_CHECKING:
    from results import Results
    from session import Bench

SIZES = {
    "smoke": {"rows": 50_000, "rounds": 1, "peers": "all"},
    "default": {"rows": 1_000_000, "rounds": 5, "peers": "all"},
    "large": {"rows": 10_000_000, "rounds": 5, "peers": "all"},
}
TARGETS = ("parquet", "delta", "iceberg")
CHOICES = ("again", "merge")
FACTS_OF_A_DIMENSION = 100  # as in the model stg_facts
REGIONS = 50
AGAIN, KEPT = "the finals, joined and aggregated again", "the joined ledger and its projection"
MERGE, OURS = "merge into both tables, joined and aggregated again", "both ledgers, the joined ledger and its projection"
SUMS = "select region, n, metric1, metric2 from {}"


def peers_on(target: str) -> tuple[str, ...]:
    """Return the peers that a target has: plain parquet knows no merge."""
    return ("again",) if target == "parquet" else CHOICES


class Dimensions:
    """The events of the dimension: first all rows once, then a share of them with another region."""

    def __init__(self, bench: Bench, rows: int) -> None:
        self._bench, self._rows, self._landed = bench, rows, 0
        bench.sql("create table dimension_events (id bigint, version bigint, region string, load string) using parquet")

    @property
    def load(self) -> str:
        """The name of the newest load."""
        return f"l{self._landed:04}"

    def land(self, percent: int) -> None:
        """Stage every row, or so many of a hundred."""
        self._landed += 1
        region = f"concat('r', pmod(xxhash64(id, {self._landed}), {REGIONS}))"
        self._bench.sql(
            f"insert into dimension_events select id, {self._landed}, {region}, '{self.load}' "
            f"from range({self._rows}) where pmod(xxhash64(id, {self._landed}, 1), 100) < {percent}"
        )


class Changes:
    """What changes in a round, and the models that then have something to read."""

    def __init__(self, title: str, land: Callable[[], object], load: Callable[[], str], ledger: str, merged: str) -> None:
        self.title, self.land, self.load, self.ledger, self.merged = title, land, load, ledger, merged


def run(bench: Bench, results: Results) -> None:
    """Compare after changes of few and of more facts, and of few and of many rows of the dimension."""
    rows, peers = results.setting["rows"], results.setting["peers"]
    dimension = rows // FACTS_OF_A_DIMENSION
    stream, dimensions = Stream(bench, rows, rows // 1000), Dimensions(bench, dimension)
    stream.land()
    dimensions.land(100)
    bench.run("stg_events", "stg_facts", "facts", "dimensions", "wide", "wide_by_region", "wide_by_region_read", "joined_again")
    has_merge = peers in ("all", "merge") and "merge" in peers_on(bench.target)
    if has_merge:
        bench.run("merged_facts", "merged_dimensions", "merged_by_region")
    changes = []
    for share, batch in (("0.1 %", rows // 1000), ("1 %", rows // 100)):

        def land(batch: int = batch) -> None:
            stream.batch = batch
            stream.land()

        title = f"{share} of {rows:,} facts change, none of {dimension:,} rows of the dimension"
        changes.append(Changes(title, land, lambda: stream.load, "facts", "merged_facts"))
    for percent in (1, 20):
        title = f"{percent} % of {dimension:,} rows of the dimension change, none of {rows:,} facts"
        land = lambda percent=percent: dimensions.land(percent)  # noqa: E731
        changes.append(Changes(title, land, lambda: dimensions.load, "dimensions", "merged_dimensions"))
    for change in changes:
        if peers in ("all", "again"):
            _compare_with_finals(bench, results, change, has_merge)
        if has_merge:
            _compare_with_merge(bench, results, change)
    bench.console.print(shown_parts(results.parts, len(changes) * results.setting["rounds"]))


def _compare_with_finals(bench: Bench, results: Results, change: Changes, has_merge: bool) -> None:
    """Let both take turns on ledgers that are up to date."""

    def land() -> None:
        change.land()
        bench.run(change.ledger)
        if has_merge:  # the merged tables are to have all changes when their turn comes
            bench.run(change.merged, load=change.load())

    heard: list[list[tuple[str, float]]] = []

    def keep() -> None:
        bench.run("wide", "wide_by_region")
        heard.append(bench.statements)

    def check() -> None:
        if not bench.is_equal(SUMS.format("wide_by_region_read"), SUMS.format("joined_again")):
            raise RuntimeError("the sums of the joined ledger are not those of the join")

    ways = {AGAIN: lambda: bench.run("joined_again"), KEPT: keep}
    compare(bench, results, change.title, ways, ours=KEPT, before=land, after=check)
    results.add_parts(heard[1:])  # the first round warms up


def _compare_with_merge(bench: Bench, results: Results, change: Changes) -> None:
    """Let whole runs take turns, from the events to the sums."""

    def check() -> None:
        if not bench.is_equal(SUMS.format("wide_by_region_read"), SUMS.format("merged_by_region")):
            raise RuntimeError("the sums of the joined ledger are not those of the merged tables")

    ways = {
        MERGE: lambda: bench.run(change.merged, "merged_by_region", load=change.load()),
        OURS: lambda: bench.run(change.ledger, "wide", "wide_by_region"),
    }
    compare(bench, results, f"From the events: {change.title}", ways, ours=OURS, before=change.land, after=check)
