"""A batch of changed keys: a ledger and its projections beside dbt's merge strategy and aggregates that are built again."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.progress import track
from rich.table import Table

if TYPE_CHECKING:
    from bench import Bench

GROUPS = ("dim1", "dim2", "kind")  # one projection, and one aggregate of the peer's, for each of the first so many
EVENT = """
    select
        {id} as id, {version}L as version, concat('d', pmod(xxhash64(id, {seed}), 100)) as dim1,
        cast(pmod(xxhash64(id), 1000) as int) as dim2, concat('k', pmod(id, 7)) as kind,
        pmod(xxhash64(id, {seed}), 100000) as metric1, pmod(xxhash64({seed}, id), 1000) / 8 as metric2,
        substr(concat(md5(cast(id as string)), md5(cast({seed} as string))), 1, 40) as payload,
        false as is_deleted, '{load}' as load
    from {drawn}
"""


def merge(bench: Bench, keys: int, batch: int, projections: int, order: str) -> None:
    """Let a run of the package and one of the peer take turns, a batch of `batch` changed keys of `keys` each round.

    order   random: keys from all over; time: 90 of 100 are new, the others among the newest tenth
    RuntimeError where the sums differ.
    """
    bench.sql(
        "create table events (id bigint, version bigint, dim1 string, dim2 int, kind string, metric1 bigint, metric2 double, "
        "payload string, is_deleted boolean, load string) using parquet partitioned by (load)"
    )
    ours = ["folded", *(f"folded_by_{name}" for name in GROUPS[:projections])]
    theirs = ["merged", *(f"merged_by_{name}" for name in GROUPS[:projections])] if bench.target != "parquet" else []
    ways = {f"the package ({bench.target})": ours} | ({f"merge ({bench.target})": theirs} if theirs else {})
    figures: dict[str, dict[str, list[float]]] = {name: {} for name in ways}
    statements: dict[str, list[float]] = {}
    bench.dbt("run", "--select", "stg_events")
    for number in track(range(bench.rounds + 2), "batches", console=bench.console):
        load = f"l{number:04}"
        drawn = f"range({keys})" if not number else _drawn(keys, batch, number, order)
        event = EVENT.format(id="id", version=number, seed=number, load=load, drawn=drawn)
        bench.sql(f"insert overwrite table events partition (load) {event}")
        names = list(ways)[::-1] if number % 2 else list(ways)
        for name in names:
            before = _measured(bench.local)
            bench.dbt("run", "--select", *ways[name], variables={"load": load})
            if name == list(ways)[0] and number > 1:
                for label, seconds in bench.statements:
                    statements.setdefault(label, []).append(seconds)
            for what, value in _measured(bench.local).items():
                if number != 1:  # the first batch after the first load warms up
                    figures[name].setdefault(f"{what} (first load)" if not number else what, []).append(value - before[what])
        if theirs:
            _check_equal(bench, GROUPS[:projections])
    _show(bench, figures, keys, batch, projections, order)
    parts = Table(box=box.SIMPLE_HEAD, title="The package's statements, seconds a run", title_justify="left", title_style="bold")
    for column in ("", "a run", "seconds"):
        parts.add_column(column, justify="right" if column else "left")
    for label, seconds in statements.items():
        parts.add_row(label, f"{len(seconds) / bench.rounds:g}", f"{sum(seconds) / bench.rounds:.2f}")
    bench.console.print(parts)


def _drawn(keys: int, batch: int, number: int, order: str) -> str:
    """Give what can stand behind `from` for the ids of a batch."""
    if order == "random":
        return f"(select distinct pmod(xxhash64(id, {number}), {keys}) as id from range({batch}))"
    new = batch * 9 // 10
    first = keys + (number - 1) * new
    late = f"select distinct {first} - 1 - pmod(xxhash64(id, {number}), {keys // 10}) as id from range({batch - new})"
    return f"(select id from range({first}, {first + new}) union all {late})"


def _check_equal(bench: Bench, groups: tuple[str, ...]) -> None:
    """Compare the sums of both; floats are added in another order, eighths are exact."""
    for name in groups:
        ours, theirs = (
            f"select {name}, n, metric1, metric2 from {{}}",
            f"select {name}, n, metric1, metric2 from merged_by_{name}",
        )
        final = f"(select * from folded_by_{name}_read)"
        bench.dbt("run", "--select", f"folded_by_{name}_read")
        for one, other in ((ours.format(final), theirs), (theirs, ours.format(final))):
            if bench.sql(f"select count(*) from ({one} except all {other})")[0][0]:
                raise RuntimeError(f"the sums by {name} differ")


def _measured(local: Path) -> dict[str, float]:
    """Give seconds of the clock, seconds of CPU of this process and its children, and bytes of the warehouse."""
    ticks, waiting = 0, [os.getpid()]
    while waiting:
        process = Path(f"/proc/{waiting.pop()}")
        ticks += sum(map(int, (process / "stat").read_text().rsplit(")", 1)[1].split()[11:13]))
        for task in (process / "task").iterdir():
            with contextlib.suppress(FileNotFoundError):  # a thread may end while it is asked
                waiting.extend(map(int, (task / "children").read_text().split()))
    size = sum(file.stat().st_size for file in (local / "warehouse").rglob("*") if file.is_file())
    return {"seconds": time.perf_counter(), "CPU seconds": ticks / os.sysconf("SC_CLK_TCK"), "MB": size / 1e6}


def _show(bench: Bench, figures: dict, keys: int, batch: int, projections: int, order: str) -> None:
    """Print a table and write it as JSON."""
    title = f"{batch:,} of {keys:,} keys, {order}, {projections} projection{'s' * (projections > 1)}, {bench.rounds} rounds"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    for column in ("", "", "least", "median", "most", "median / the package"):
        table.add_column(column, justify="right" if column else "left")
    first = next(iter(figures.values()))
    for name, found in figures.items():
        for what, values in found.items():
            median = statistics.median(values)
            ratio = median / (statistics.median(first[what]) or 1)
            table.add_row(name, what, f"{min(values):.2f}", f"{median:.2f}", f"{max(values):.2f}", f"{ratio:.2f}")
    bench.console.print(table)
    setting = {
        "target": bench.target,
        "keys": keys,
        "batch": batch,
        "projections": projections,
        "order": order,
        "rounds": bench.rounds,
    }
    file = bench.local / f"merge_{bench.target}_{keys}_{batch}_{projections}_{order}.json"
    file.write_text(json.dumps(setting | {"figures": figures}, indent=1))
    bench.console.print(f"[dim]{file}")
