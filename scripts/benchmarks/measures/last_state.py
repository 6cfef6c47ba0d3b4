"""The last state of each key, four ways and by ClickHouse, of a stage with four rows of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.progress import track

from turns import compare

if TYPE_CHECKING:
    from results import Results
    from session import Bench

SIZES = {
    "smoke": {"rows": 20_000, "rounds": 2},
    "default": {"rows": 2_000_000, "rounds": 5},
    "large": {"rows": 10_000_000, "rounds": 5},
}
TARGETS = ("parquet",)
LOADS = 4
COLUMNS = "id bigint, ts bigint, amount bigint, payload string, load string"
WAYS = ("by_max_by", "by_row_number", "by_subquery", "by_final")
SUMMED = "select count(*), sum(amount), sum(ts), max(payload) from {} "


def run(bench: Bench, results: Results) -> None:
    """Compare the ways before an optimize, after it, and with a small batch on top."""
    bench.sql(f"create table measured ({COLUMNS}) using parquet partitioned by (load)")
    bench.clickhouse.sql("drop table if exists measured sync")
    bench.clickhouse.sql(
        "create table measured (id Int64, ts Int64, amount Int64, payload String) engine = ReplacingMergeTree(ts) order by id"
    )
    bench.run("replaced", "path:models/last_state")
    for load in track(range(1, LOADS + 1), "folding", console=bench.console):
        drawn = f"select xxhash64(id) as id, {load} as ts, id * {load} as amount, md5(cast(id as string)) as payload"
        _land(bench, f"load {load}", f"select * from ({drawn} from range({results.setting['rows']}))")
        bench.run("replaced")
    bench.run("path:models/last_state")
    _compare(bench, results, "not optimized")

    def optimize() -> None:
        bench.optimize("replaced")

    def optimize_clickhouse() -> None:
        bench.clickhouse.sql("optimize table measured final")

    ways = {"optimize": optimize, "ClickHouse's": optimize_clickhouse}
    compare(bench, results, "An optimize", ways, base="optimize", ours="optimize", rounds=1, warm_up=0)
    bench.run("by_final")
    _compare(bench, results, "optimized")
    newest = f"from measured where load = 'load {LOADS}' and pmod(id, 100) = 7"
    _land(bench, "changed", f"select id, ts + 1, amount + 1, payload {newest}")
    bench.run("replaced", "by_final")
    _compare(bench, results, "optimized, 1 % of the keys in a later batch")


def _land(bench: Bench, load: str, rows: str) -> None:
    """Add rows to the stage, and to ClickHouse's table."""
    bench.sql(f"insert into measured partition (load = '{load}') {rows}")
    files = bench.folder_of("measured") / f"load={load}" / "*.parquet"
    bench.clickhouse.sql(f"insert into measured select id, ts, amount, payload from file('{files}', Parquet)")


def _compare(bench: Bench, results: Results, what: str) -> None:
    """Let the ways take turns for one key, many keys and the whole table."""
    one = bench.sql("select min(id) from measured")[0][0]
    bench.spark.sql("select distinct id from measured where pmod(id, 10) = 3").createOrReplaceTempView("asked")
    bench.clickhouse.sql(
        "create or replace table asked engine = Memory as select id from measured where positiveModulo(id, 10) = 3"
    )
    for asked, where in {
        "one key": f"where id = {one}",
        "a tenth of the keys": "where id in (select id from asked)",
        "every key": "",
    }.items():
        ways = {name.removeprefix("by_"): lambda way=name, where=where: bench.sql(SUMMED.format(way) + where) for name in WAYS}
        ways["ClickHouse FINAL"] = lambda where=where: bench.clickhouse.sql(SUMMED.format("measured final") + where)
        compare(bench, results, f"The last state of {asked}: {what}", ways, base="final", ours="final")
