"""A batch of 1 % of the keys into ledgers of 1, 2 and 4 shards, and the plan of a shard's lookup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.progress import track

from turns import compare

if TYPE_CHECKING:
    from results import Results
    from session import Bench

SIZES = {
    "smoke": {"rows": 20_000, "rounds": 1},
    "default": {"rows": 2_000_000, "rounds": 5},
    "large": {"rows": 20_000_000, "rounds": 5},
}
TARGETS = ("parquet",)
SHARDS = (1, 2, 4)
DRAWN = """
    select xxhash64(id) as id, {version} as version, id as amount, md5(cast(id as string)) as payload, '{load}' as load
    from range({keys})
"""


def run(bench: Bench, results: Results) -> None:
    """Fold batches into each shard of each ledger, and print the plans."""
    keys = results.setting["rows"]
    bench.sql("create table sharded (id bigint, version int, amount bigint, payload string, load string) using parquet")
    bench.run("stg_sharded")
    runs = [(count, shard if count > 1 else None) for count in SHARDS for shard in range(count)]
    bench.sql("insert into sharded " + DRAWN.format(version=1, load="first", keys=keys))
    for count, shard in track(runs, "first batches", console=bench.console):
        bench.run(f"in_{count}", shard=shard)

    ways, landed = {}, 1
    for count, shard in runs:
        name = f"in_{count}" + ("" if shard is None else f"__shard_{shard}")
        held = bench.sql(f"select count(distinct id) from {name}")[0][0]
        whole = f"{count} shards, {shard + 1}: {held:,} keys" if count > 1 else f"1 shard: {held:,} keys"
        ways[whole] = lambda count=count, shard=shard: bench.run(f"in_{count}", shard=shard)

    def land() -> None:
        nonlocal landed
        landed += 1
        changed = f"where pmod(id, 100) = {landed % 100}"
        bench.sql("insert into sharded " + DRAWN.format(version=landed, load=f"load {landed}", keys=keys) + changed)

    def check() -> None:
        sums = "select sum(ledger_sign), sum(version * ledger_sign), sum(amount * ledger_sign) from ({})"
        newest = "select max(version) as version, max(amount) as amount, 1 as ledger_sign from sharded group by id"
        for count in SHARDS:
            names = [f"in_{count}"] if count == 1 else [f"in_{count}__shard_{shard}" for shard in range(count)]
            tables = " union all ".join(f"select version, amount, ledger_sign from {name}" for name in names)
            if not bench.is_equal(sums.format(tables), sums.format(newest)):
                raise RuntimeError(f"the ledger of {count} shards has other sums than the newest events")

    compare(bench, results, "A batch of 1 % of the keys", ways, base=next(iter(ways)), before=land, after=check)
    land()
    for count in SHARDS:
        compiled = bench.dbt("compile", "--select", f"in_{count}", shard=0 if count > 1 else None)
        plan = bench.sql("explain " + compiled.results[0].node.compiled_code)[0][0]
        bench.console.print(f"\nThe plan of one of {count}:\n{plan}", markup=False, highlight=False, soft_wrap=True)
