#!/usr/bin/env python3
"""Measure what the documents claim about speed: run by scripts/bench, which sets up Java, Python and the environment.

What is compared takes turns in one Spark session, so that a noisy machine is as noisy for each.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner
from dbt_common.events.base_types import EventMsg
from merge import merge
from pyspark.sql import SparkSession
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from workspace import InUse, alone, start_afresh

PROJECT = Path(__file__).parent / "project"
SCHEMA = "demo"  # of the profile's target parquet, in a warehouse of its own
LOADS = 4
ROWS_OF_A_BATCH, GROUPS = 5000, 1000
SHARDS = (1, 2, 4)
FOLDERS = ("warehouse", "metastore", "landing", "streamed", "target")  # of ours, emptied first


class Bench:
    """Commands of dbt and queries in one session, and rounds that compare them."""

    def __init__(self, local: Path, target: str, rounds: int, console: Console) -> None:
        self.local, self.target, self.rounds, self.console = local, target, rounds, console
        self._parsed: dict[int | None, Any] = {}
        self.dbt("deps")
        self.dbt("show", "--inline", "select 1")
        self.spark = SparkSession.builder.getOrCreate()
        schema = SCHEMA if target == "parquet" else f"{SCHEMA}_{target}"
        self.spark.sql(f"create schema if not exists {schema}")
        self.spark.sql(f"use {schema}")

    def dbt(self, *command: str, shard: int | None = None, variables: dict[str, Any] | None = None) -> Any:
        """Run a dbt command, about one shard if need be; gives its result. RuntimeError with what dbt said where it fails."""
        of_shard = {} if shard is None else {"collapsing_shard": shard}
        target = [] if command[0] == "deps" else ["--target-path", str(self.local / "target"), "--target", self.target]
        quiet = ["--quiet", "--log-level", "none", "--log-level-file", "none", "--no-write-json"]
        given = [*quiet, *command, "--project-dir", str(PROJECT), *target]
        given += ["--vars", json.dumps((variables or {}) | of_shard)]
        if shard not in self._parsed and command[0] not in ("deps", "parse"):
            self._parsed[shard] = self.dbt("parse", shard=shard, variables=variables)  # once, but tables are named for the shard
        self.statements: list[tuple[str, float]] = []
        begun: dict[str, tuple[str, float]] = {}

        def hear(event: EventMsg) -> None:
            """Note what each statement of a model took, with the fetching of its rows: up to the next one, or the model's end."""
            if event.info.name in ("SQLQuery", "LogModelResult") and event.info.thread in begun:
                statement, at = begun.pop(event.info.thread)
                self.statements.append((statement, time.perf_counter() - at))
            if event.info.name == "SQLQuery":
                sql = re.sub(r"\d+|__[0-9a-f_]{20,}", "", " ".join(event.data.sql.split("*/", 1)[-1].split()))
                begun[event.info.thread] = (f"{event.data.node_info.node_name}: {sql[:70]}", time.perf_counter())

        result = dbtRunner(manifest=self._parsed.get(shard), callbacks=[hear]).invoke(given)
        if not result.success:
            said = [node.message or "" for node in getattr(result.result, "results", None) or []]
            raise RuntimeError(f"dbt {' '.join(command)}: {result.exception or ' '.join(said)}")
        return result.result

    def sql(self, statement: str) -> list:
        """Run a statement; gives its rows."""
        return self.spark.sql(statement).collect()

    def compare(self, title: str, ways: dict[str, Callable[[], object]], same_answer: bool = True) -> None:
        """Let ways take turns and print least and median seconds, and the ratio of each median to the last one's.

        RuntimeError where they should give the same answer and do not.
        """
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(self.rounds + 1):
            answers = {}
            first = number % len(ways)  # each way follows each other one
            for name, way in [*ways.items()][first:] + [*ways.items()][:first]:
                begun = time.perf_counter()
                answers[name] = way()
                if number:
                    seconds[name].append(time.perf_counter() - begun)
            if same_answer and len(set(map(str, answers.values()))) != 1:
                raise RuntimeError(f"{title}: the answers differ: {answers}")
        table = Table(box=box.SIMPLE_HEAD, title=f"{title}, {self.rounds} rounds", title_justify="left", title_style="bold")
        table.add_column("")
        last = statistics.median(list(seconds.values())[-1])
        for column in ("least, s", "median, s", f"median / {list(ways)[-1]}"):
            table.add_column(column, justify="right")
        for name, found in seconds.items():
            median = statistics.median(found)
            table.add_row(name, f"{min(found):.2f}", f"{median:.2f}", f"{median / last:.2f}")
        self.console.print(table)


def last_state(bench: Bench, keys: int) -> None:
    """Compare four ways to the last state of each key, of a stage with four rows of each."""
    bench.sql("create table measured (id bigint, ts bigint, amount bigint, payload string, load string) using parquet")
    bench.dbt("run", "--select", "replaced", "path:models/last_state")
    for load in track(range(1, LOADS + 1), "folding", console=bench.console):
        drawn = f"select xxhash64(id) as id, {load} as ts, id * {load} as amount, md5(cast(id as string)) as payload"
        bench.sql(f"insert into measured select *, 'load {load}' from ({drawn} from range({keys}))")
        bench.dbt("run", "--select", "replaced")
    bench.dbt("run", "--select", "path:models/last_state")
    _compare_last_states(bench, "no base")
    begun = time.perf_counter()
    bench.dbt("run-operation", "collapsing.optimize", "--args", "{model: replaced}")
    bench.console.print(f"optimize: {time.perf_counter() - begun:.1f} s")
    bench.dbt("run", "--select", "by_final")
    _compare_last_states(bench, "a base")
    changed = "select id, ts + 1, amount + 1, payload, 'changed' from measured"
    bench.sql(f"insert into measured {changed} where ts = {LOADS} and pmod(id, 100) = 7")
    bench.dbt("run", "--select", "replaced", "by_final")
    _compare_last_states(bench, "a base, 1 % of the keys in a later batch")


def _compare_last_states(bench: Bench, what: str) -> None:
    """Let the four ways take turns for one key, many keys and the whole table."""
    one = bench.sql("select min(id) from measured")[0][0]
    bench.spark.sql("select distinct id from measured where pmod(id, 10) = 3").createOrReplaceTempView("asked")
    for asked, where in {
        "one key": f"where id = {one}",
        "a tenth of the keys": "where id in (select id from asked)",
        "every key": "",
    }.items():
        summed = "select count(*), sum(amount), sum(ts), max(payload) from {} " + where
        ways = ("by_max_by", "by_row_number", "by_subquery", "by_final")
        bench.compare(
            f"The last state of {asked}: {what}",
            {name.removeprefix("by_"): lambda name=name, summed=summed: bench.sql(summed.format(name)) for name in ways},
        )


def old_blocks(bench: Bench, blocks: int) -> None:
    """Compare a run with one new block after few old ones and after many, by what has become of their files."""
    sizes = {"many": blocks, "moved": blocks, "few": 10}
    for name, old in sizes.items():
        folder = bench.local / "landing" / name
        folder.mkdir(parents=True)
        for number in range(old):
            _land(folder, number)
    bench.dbt("run", "--select", "path:models/old_blocks")
    for file in (bench.local / "landing" / "moved").iterdir():
        file.unlink()
    landed = dict(sizes)

    def run(name: str) -> Callable[[], None]:
        def way() -> None:
            _land(bench.local / "landing" / name, landed[name])
            landed[name] += 1
            bench.dbt("run", "--select", name)

        return way

    labels = {"many": f"{blocks:,} old blocks", "moved": f"{blocks:,}, their files moved away", "few": "10 old blocks"}
    bench.compare("A run with one new block", {label: run(name) for name, label in labels.items()}, same_answer=False)
    for name in sizes:
        rows = bench.sql(f"select count(*), max(ledger_batch) from {name}")[0]
        if tuple(rows) != (landed[name] * 10, bench.rounds + 2):
            raise RuntimeError(f"{name} holds {rows[0]} rows of {rows[1]} batches, not {landed[name] * 10} of {bench.rounds + 2}")

    def streamed(name: str) -> Callable[[], None]:
        """Let Structured Streaming read what is new in the folder, by its trigger for runs that end."""
        folder, place = bench.local / "landing" / name, bench.local / "streamed" / name

        def way() -> None:
            _land(folder, landed[name])
            landed[name] += 1
            lines = bench.spark.readStream.text(str(folder)).selectExpr("*", "_metadata.file_name as block")
            copy = lines.writeStream.trigger(availableNow=True).option("checkpointLocation", str(place / "checkpoint"))
            copy.start(str(place / "rows"), format="parquet").awaitTermination()

        way()  # reads the old files
        return way

    bench.compare(
        "Structured Streaming: a copy of one new file",
        {labels[name]: streamed(name) for name in ("many", "few")},
        same_answer=False,
    )


def _land(folder: Path, number: int) -> None:
    """Land a block of ten events."""
    rows = (json.dumps({"id": number * 10 + place, "version": 1, "amount": place}) + "\n" for place in range(10))
    (folder / f"b{number:06}.json").write_text("".join(rows))


def many_batches(bench: Bench, batches: int) -> None:
    """Compare reading a projection that has read few and many batches of its ledger, with the same groups.

    The ledger's later batches are written straight into its table: only the projection's runs are what is measured here.
    """
    bench.sql("create table added (id bigint, version int, amount bigint, load string) using parquet")
    bench.sql(f"insert into added select id, 1, id % 97, 'first' from range({ROWS_OF_A_BATCH})")
    bench.dbt("run", "--select", "path:models/many_batches")
    for name, last in {"young": 10, "old": batches}.items():
        for number in track(range(2, last + 1), f"{last} batches", console=bench.console):
            bench.sql(
                f"insert overwrite table {name} partition (ledger_batch = {number}) select /*+ coalesce(1) */ "
                f"id + {number * ROWS_OF_A_BATCH}, 1, id % 97, cast(1 as tinyint), 'load {number}' from range({ROWS_OF_A_BATCH})"
            )
            bench.dbt("run", "--select", f"{name}_sums")
        rows = bench.sql(f"select sum(orders), count(*) from read_{name}")[0]
        if tuple(rows) != (last * ROWS_OF_A_BATCH, GROUPS):
            raise RuntimeError(f"{name} has {rows[0]} orders in {rows[1]} groups, not {last * ROWS_OF_A_BATCH} in {GROUPS}")
    read = "select count(*), sum(orders), sum(amount), sum(mean) from read_{}"
    bench.compare(
        f"Reading a projection of {GROUPS:,} groups",
        {
            f"{batches:,} batches": lambda: bench.sql(read.format("old")),
            "10 batches": lambda: bench.sql(read.format("young")),
        },
        same_answer=False,
    )


def shards(bench: Bench, keys: int) -> None:
    """Fold batches of 1 % of the keys into ledgers of 1, 2 and 4 shards; show what each run takes, and its plan."""
    bench.sql("create table sharded (id bigint, version int, amount bigint, payload string, load string) using parquet")
    bench.dbt("run", "--select", "stg_sharded")
    runs = [(count, shard if count > 1 else None) for count in SHARDS for shard in range(count)]
    drawn = (
        "select xxhash64(id) as id, {} as version, id as amount, md5(cast(id as string)) as payload, '{}' as load from range({}) "
    )
    bench.sql("insert into sharded " + drawn.format(1, "first", keys))
    for count, shard in track(runs, "first batches", console=bench.console):
        bench.dbt("run", "--select", f"in_{count}", shard=shard)
    seconds: dict[tuple, list[float]] = {run: [] for run in runs}
    for number in range(bench.rounds + 1):
        bench.sql("insert into sharded " + drawn.format(number + 2, f"load {number}", keys) + f"where pmod(id, 100) = {number}")
        for count, shard in runs:
            begun = time.perf_counter()
            bench.dbt("run", "--select", f"in_{count}", shard=shard)
            if number:
                seconds[count, shard].append(time.perf_counter() - begun)
    table = Table(box=box.SIMPLE_HEAD, title="A batch of 1 % of the keys", title_justify="left", title_style="bold")
    for column in ("shards", "keys of a shard", "least, s", "median, s", "median / 1 shard"):
        table.add_column(column, justify="right")
    whole = statistics.median(seconds[1, None])
    for count, shard in runs:
        name = f"in_{count}" + ("" if shard is None else f"__shard_{shard}")
        held = bench.sql(f"select count(distinct id) from {name}")[0][0]
        found = seconds[count, shard]
        median = statistics.median(found)
        table.add_row(str(count), f"{held:,}", f"{min(found):.2f}", f"{median:.2f}", f"{median / whole:.2f}")
    bench.console.print(table)
    bench.sql("insert into sharded " + drawn.format(99, "planned", keys) + "where pmod(id, 100) = 99")
    for count in SHARDS:
        compiled = bench.dbt("compile", "--select", f"in_{count}", shard=0 if count > 1 else None)
        plan = bench.sql("explain " + compiled.results[0].node.compiled_code)[0][0]
        bench.console.print(f"\nThe plan of one of {count}:\n{plan}", markup=False, highlight=False, soft_wrap=True)


def main() -> None:
    """Measure what is asked for."""
    measures: dict[str, Callable[[Bench, argparse.Namespace], None]] = {
        "last-state": lambda bench, given: last_state(bench, given.rows),
        "old-blocks": lambda bench, given: old_blocks(bench, given.blocks),
        "many-batches": lambda bench, given: many_batches(bench, given.batches),
        "shards": lambda bench, given: shards(bench, given.rows),
        "merge": lambda bench, given: merge(bench, given.rows, given.batch, given.projections, given.order),
    }
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.splitlines()[0])
    parser.add_argument("measures", nargs="*", metavar="measure", help=", ".join(measures))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--blocks", type=int, default=10_000)
    parser.add_argument("--batches", type=int, default=1_000)
    parser.add_argument("--target", choices=("parquet", "delta", "iceberg"), default="parquet")
    parser.add_argument("--batch", type=int, default=100_000)
    parser.add_argument("--projections", type=int, choices=(1, 2, 3), default=1)
    parser.add_argument("--order", choices=("random", "time"), default="random")
    arguments = parser.parse_args()
    unknown = set(arguments.measures) - set(measures)
    if unknown:
        parser.error(f"there is no measure {', '.join(sorted(unknown))}; there are {', '.join(measures)}")
    if min(arguments.rounds, arguments.rows, arguments.blocks, arguments.batches, arguments.batch) < 1:
        parser.error("--rounds, --rows, --blocks, --batches and --batch must be 1 or more")
    if arguments.target != "parquet" and arguments.measures != ["merge"]:
        parser.error("--target is a choice of merge alone; the other measures are taken on plain parquet")

    local = Path(os.environ["COLLAPSING_LOCAL"])
    local.mkdir(parents=True, exist_ok=True)
    try:
        with alone(local):
            start_afresh(local, FOLDERS)
            bench = Bench(local, arguments.target, arguments.rounds, Console())
            for name, measure in measures.items():
                if not arguments.measures or name in arguments.measures:
                    measure(bench, arguments)
    except InUse as error:
        sys.exit(f"[bench] {error}")


if __name__ == "__main__":
    main()
