"""One event in a fresh process: a ledger, a projection and views beside plain dbt models of the same shape."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import track

from results import Comparison
from turns import shown

if TYPE_CHECKING:
    from results import Results
    from session import Bench

SIZES = {
    "smoke": {"rows": 100, "rounds": 1},
    "default": {"rows": 1_000, "rounds": 5},
    "large": {"rows": 100_000, "rounds": 10},
}
TARGETS = ("parquet", "delta", "iceberg")
WAYS = {"append, row_number and aggregate": "plain", "collapsing": "ours"}
DIFFER = """
select count(*) as differ from (
    (select id, version, amount from {{ ref('cold_now') }} except all select id, version, amount from {{ ref('plain_now') }})
    union all
    (select place, n, amount from {{ ref('cold_sums') }} except all select place, n, amount from {{ ref('plain_sums') }})
)
"""


def run(bench: Bench, results: Results) -> None:
    """Start a process for each way and round, after a file of one event has landed. They have a warehouse of their own."""
    rows, local = results.setting["rows"], bench.local / "cold"
    landing = local / "landing" / "cold"
    landing.mkdir(parents=True)
    _land(landing, 0, range(rows))
    _dbt(bench, local, "deps")
    _dbt(bench, local, "run", "--select", "stg_cold", "path:models/cold/plain", "path:models/cold/ours")
    ways: dict[str, dict[str, list[float]]] = {name: {"seconds": []} for name in WAYS}
    for number in track(range(1, results.setting["rounds"] + 1), "rounds", console=bench.console):
        _land(landing, number, [number * 7 % rows])
        for name in list(WAYS)[:: -1 if number % 2 else 1]:
            started = time.perf_counter()
            _dbt(bench, local, "run", "--select", "stg_cold", f"path:models/cold/{WAYS[name]}")
            ways[name]["seconds"].append(time.perf_counter() - started)
    said = _dbt(bench, local, "show", "--output", "json", "--inline", DIFFER)
    if '"differ": 0' not in said:
        raise RuntimeError(f"the rows or sums of the two ways differ: {said}")
    title = f"One event into {rows:,} keys in a fresh process, with a projection and three views"
    results.comparisons.append(Comparison(title, "collapsing", ways, "collapsing"))
    bench.console.print(shown(results.comparisons[-1]))


def _dbt(bench: Bench, local: Path, *command: str) -> str:
    """Run dbt as a user does; returns what it printed. RuntimeError where it fails."""
    target = [] if command[0] == "deps" else ["--target", bench.target, "--target-path", str(local / "target")]
    given = [str(Path(sys.executable).with_name("dbt")), *command, "--project-dir", str(bench.project), *target]
    done = subprocess.run(given, env=os.environ | {"COLLAPSING_LOCAL": str(local)}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"dbt {' '.join(command)}: {done.stdout[-2000:]}")
    return done.stdout


def _land(folder: Path, number: int, ids: range | list[int]) -> None:
    """Land a file of events, which is a block."""
    rows = (json.dumps({"id": key, "version": number, "amount": key + number}) + "\n" for key in ids)
    (folder / f"b{number:06}.json").write_text("".join(rows))
