"""A batch of changed keys: a ledger and its projections beside dbt's merge strategy and aggregates that are rebuilt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bare import Bare, BareMerge
from stream import GROUPS, Stream
from turns import compare, shown_parts

if TYPE_CHECKING:
    from results import Results
    from session import Bench

EVENTS = {"warm_up": 1, "projections": 1, "order": "random", "deletes": 0, "peers": "all", "form": "dbt"}
SIZES = {
    "smoke": {"rows": 20_000, "batch": 2_000, "rounds": 1} | EVENTS,
    "default": {"rows": 1_000_000, "batch": 100_000, "rounds": 5} | EVENTS,
    "large": {"rows": 5_000_000, "batch": 100_000, "rounds": 5} | EVENTS,
}
TARGETS = ("parquet", "delta", "iceberg")
OURS, CLICKHOUSE = "collapsing", "ClickHouse, the article's view"
CHOICES = ("merge", "rewrite", "feed", "append", "clickhouse")
FORMS = ("dbt", "both")
# {target: {peer: (the model that its aggregates read, what it is called)}}
APPEND = ("newest", "append and row_number")
PEERS = {
    "parquet": {"append": APPEND},
    "delta": {
        "merge": ("merged", "merge, deletion vectors on"),
        "rewrite": ("rewritten", "merge, deletion vectors off"),
        "feed": ("fed", "merge, deletion vectors and change feed"),
        "append": APPEND,
    },
    "iceberg": {
        "merge": ("merged", "merge, merge-on-read"),
        "rewrite": ("rewritten", "merge, copy-on-write"),
        "append": APPEND,
    },
}


def peers_on(target: str) -> tuple[str, ...]:
    """Return the peers that a target has."""
    return (*PEERS[target], "clickhouse")


def run(bench: Bench, results: Results) -> None:
    """Let whole runs of dbt, and ClickHouse's inserts, take turns: the first load, and then a batch each round."""
    given = results.setting
    stream = Stream(bench, given["rows"], given["batch"], given["order"], given["deletes"])
    groups = GROUPS[: given["projections"]]
    peers = dict(peer for choice, peer in PEERS[bench.target].items() if given["peers"] in ("all", choice))
    has_clickhouse = given["peers"] in ("all", "clickhouse")
    heard: list[list[tuple[str, float]]] = []

    def run_ours() -> None:
        bench.run("folded", *(f"folded_by_{group}" for group in groups))
        heard.append(bench.statements)

    def run_peer(model: str) -> Callable[[], None]:
        selected = ["appended" if model == "newest" else model, *(f"{model}_by_{group}" for group in groups)]
        return lambda: bench.run(*selected, *first_of(model), load=stream.load, least=stream.least)

    def first_of(model: str) -> list[str]:
        """Return a view that the first load alone creates."""
        return [model] if model == "newest" and stream.landed == 1 else []

    ways = {name: run_peer(model) for model, name in peers.items()}
    if has_clickhouse:
        bench.clickhouse.create(groups)
        ways[CLICKHOUSE] = lambda: bench.clickhouse.fold(stream.folder)
    ways[OURS] = run_ours

    def check() -> None:
        _check_sums(bench, groups, {name: f"{model}_by_{{}}" for model, name in peers.items()}, has_clickhouse)

    bench.run("stg_events")
    usual = {"base": OURS, "ours": OURS, "before": stream.land, "after": check}
    what = f"{given['rows']:,} keys, {len(groups)} projection{'s' * (len(groups) > 1)}"
    compare(bench, results, f"The first load of {what}, in code that is not compiled yet", ways, rounds=1, warm_up=0, **usual)
    heard.clear()
    title = f"A batch of {given['batch']:,} into {what}, {given['order']}, {given['deletes']} % deletes"
    compare(bench, results, title, ways, warm_up=given["warm_up"], **usual)
    results.add_parts(heard[given["warm_up"] :])
    bench.console.print(shown_parts(results.parts, given["rounds"]))
    if given["form"] == "both":
        merged = {model: name for model, name in peers.items() if model in ("merged", "rewritten")}
        _compare_bare(bench, results, title, stream, groups, merged, has_clickhouse)


def _compare_bare(
    bench: Bench,
    results: Results,
    title: str,
    stream: Stream,
    groups: Sequence[str],
    peers: dict[str, str],
    has_clickhouse: bool,
) -> None:
    """Let the SQL of the same work take turns, without dbt."""
    bare = Bare(bench, groups)
    merges = {name: BareMerge(bench, model, groups) for model, name in peers.items()}
    ways = {name: lambda merge=merge: merge.run(stream.load, stream.least) for name, merge in merges.items()}
    if has_clickhouse:
        ways[CLICKHOUSE] = lambda: bench.clickhouse.fold(stream.folder)
    ways[OURS] = bare.run

    def land() -> None:
        stream.land()
        bare.compile()

    def check() -> None:
        bench.run("folded", *(f"folded_by_{group}" for group in groups))
        bare.check()
        _check_sums(bench, groups, {name: merge.sums("{}") for name, merge in merges.items()}, has_clickhouse)

    compare(bench, results, f"Bare SQL: {title}", ways, ours=OURS, before=land, after=check)


def _check_sums(bench: Bench, groups: Sequence[str], tables: dict[str, str], has_clickhouse: bool) -> None:
    """Compare the sums, those of peers by the names of their tables. RuntimeError where they differ.

    Floats are added in another order; the bench's are eighths, whose sums are exact.
    """
    bench.run(*(f"folded_by_{group}_read" for group in groups))
    for group in groups:
        query = f"select {group}, n, metric1, metric2 from {{}}"
        ours = query.format(f"folded_by_{group}_read")
        for name, table in tables.items():
            if not bench.is_equal(ours, query.format(table.format(group)) + " where n > 0"):
                raise RuntimeError(f"the sums by {group} of {name} differ")
        if has_clickhouse and bench.sql(f"{ours} order by {group}") != bench.clickhouse.sums(group):
            raise RuntimeError(f"the sums by {group} of ClickHouse differ")
