"""A run with one new block after few old ones and after many, by what has become of their files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from turns import compare

if TYPE_CHECKING:
    from results import Results
    from session import Bench

SIZES = {
    "smoke": {"blocks": 100, "rounds": 2},
    "default": {"blocks": 10_000, "rounds": 5},
    "large": {"blocks": 50_000, "rounds": 15},
}
TARGETS = ("parquet",)
FEW = 10


def run(bench: Bench, results: Results) -> None:
    """Compare runs of the package, and copies by Structured Streaming, which reads the same folders."""
    blocks = results.setting["blocks"]
    sizes = {"many": blocks, "moved": blocks, "few": FEW}
    for name, old in sizes.items():
        folder = bench.local / "landing" / name
        folder.mkdir(parents=True)
        for number in range(old):
            _land(folder, number)
    bench.run("path:models/old_blocks")
    for file in (bench.local / "landing" / "moved").iterdir():
        file.unlink()
    landed = dict(sizes)

    def run_of(name: str) -> Callable[[], None]:
        def way() -> None:
            _land(bench.local / "landing" / name, landed[name])
            landed[name] += 1
            bench.run(name)

        return way

    labels = {"many": f"{blocks:,} old blocks", "moved": f"{blocks:,}, their files moved away", "few": f"{FEW} old blocks"}
    ways = {label: run_of(name) for name, label in labels.items()}

    def check() -> None:
        for name, old in sizes.items():
            rows = bench.sql(f"select count(*), max(ledger_batch) from {name} where ledger_note is null")[0]
            if tuple(rows) != (landed[name] * 10, landed[name] - old + 1):
                raise RuntimeError(f"{name} holds {rows[0]} rows of {rows[1]} batches, not {landed[name] * 10}")

    compare(bench, results, "A run with one new block", ways, after=check)

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

    def check_copies() -> None:
        for name in ("many", "few"):
            [(rows,)] = bench.sql(f"select count(*) from parquet.`{bench.local / 'streamed' / name / 'rows'}`")
            if rows != landed[name] * 10:
                raise RuntimeError(f"the copy of {name} holds {rows} rows, not {landed[name] * 10}")

    ways = {labels[name]: streamed(name) for name in ("many", "few")}
    compare(bench, results, "Structured Streaming: a copy of one new file", ways, after=check_copies)


def _land(folder: Path, number: int) -> None:
    """Land a block of ten events."""
    rows = (json.dumps({"id": number * 10 + place, "version": 1, "amount": place}) + "\n" for place in range(10))
    (folder / f"b{number:06}.json").write_text("".join(rows))
