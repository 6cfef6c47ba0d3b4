"""A run of a ledger after few and after many batches that no optimize has compacted, and reading a projection of it."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from rich.progress import track

from turns import compare

if TYPE_CHECKING:
    from results import Results
    from session import Bench

SIZES = {
    "smoke": {"batches": 20, "rounds": 2},
    "default": {"batches": 1_000, "rounds": 5},
    "large": {"batches": 5_000, "rounds": 5},
}
TARGETS = ("parquet",)
FEW = 10
ROWS_OF_A_BATCH, GROUPS = 5_000, 1_000


def run(bench: Bench, results: Results) -> None:
    """Compare readings, then runs.

    The ledger's later batches are written straight into its table, each a file of rows and one of a note, as a run writes them.
    """
    batches = results.setting["batches"]
    bench.sql("create table added (id bigint, version int, amount bigint, load string) using parquet")
    bench.sql(f"insert into added select id, 1, id % 97, 'first' from range({ROWS_OF_A_BATCH})")
    bench.run("path:models/many_batches")
    for name, last in {"young": FEW, "old": batches}.items():
        for number in track(range(2, last + 1), f"{last} batches", console=bench.console):
            bench.sql(
                f"insert overwrite table {name} partition (ledger_batch = {number}) select "
                f"id + {number * ROWS_OF_A_BATCH}, 1, id % 97, cast(1 as tinyint), 'load {number}', cast(null as string) "
                f"from (select id from range({ROWS_OF_A_BATCH}) distribute by id) "
                f"union all select /*+ coalesce(1) */ null, null, null, 0, 'load {number}', "
                f"""'{{"kind":"block","batch":{number},"rows":{ROWS_OF_A_BATCH}}}' from range(1)"""
            )
            bench.run(f"{name}_sums")
        rows = bench.sql(f"select sum(orders), count(*) from read_{name}")[0]
        if tuple(rows) != (last * ROWS_OF_A_BATCH, GROUPS):
            raise RuntimeError(f"{name} has {rows[0]} orders in {rows[1]} groups, not {last * ROWS_OF_A_BATCH} in {GROUPS}")
    read = "select count(*), sum(orders), sum(amount), sum(mean) from read_{}"
    ways = {
        f"{batches:,} batches": lambda: bench.sql(read.format("old")),
        f"{FEW} batches": lambda: bench.sql(read.format("young")),
    }
    compare(bench, results, f"Reading a projection of {GROUPS:,} groups", ways, same_answer=False)

    versions = count(2)

    def land() -> None:
        version = next(versions)
        bench.sql(f"insert into added select id, {version}, id % 89, 'late {version}' from range({ROWS_OF_A_BATCH})")

    ways = {f"{batches:,} batches": lambda: bench.run("old"), f"{FEW} batches": lambda: bench.run("young")}
    compare(bench, results, f"A run of a ledger with {ROWS_OF_A_BATCH:,} changed keys", ways, before=land, same_answer=False)
