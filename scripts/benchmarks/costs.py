"""What a piece of work costs, beside the seconds of the clock: CPU, bytes written, rows and files read, memory."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from clickhouse import ClickHouse

# what scans of plain parquet and Delta call it, and what those of Iceberg do
FILES_READ = re.compile(r"SQLPlanMetric\(number of (?:files read|result data files),(\d+),")
EXECUTIONS = 1000  # that Spark remembers


class Meter:
    """Measures the work between ``begin`` and ``end``: of Spark, of ClickHouse in this process, and of all their processes.

    Where there is no /proc, as on macOS, CPU and memory are left out.
    """

    def __init__(self, spark: SparkSession, clickhouse: Callable[[], ClickHouse | None]) -> None:
        self._spark, self._clickhouse = spark, clickhouse
        self._has_proc = sys.platform == "linux"
        self._executions = spark._jsparkSession.sharedState().statusStore()

    def begin(self) -> None:
        """Note what was used before."""
        self._last_execution = self._newest_execution()
        first, second = self._counters(), self._counters()
        self._counted = {name: 2 * second[name] - first[name] for name in second}  # ClickHouse counts the counting too
        if self._has_proc:
            _of_processes(
                lambda process: (process / "clear_refs").write_text("5")
            )  # forgets the most memory that each had so far
            self._cpu = _cpu_seconds()
        self._clock = time.perf_counter()

    def end(self) -> dict[str, float]:
        """Return what was used since, by name."""
        used = {"seconds": time.perf_counter() - self._clock}
        if self._has_proc:
            used["CPU seconds"] = _cpu_seconds() - self._cpu
            used["peak MB"] = _of_processes(_peak_bytes) / 1e6
        for name, value in self._counters().items():
            used[name] = max(value - self._counted[name], 0)
        used["files read"] += self._files_read()
        return used

    def _counters(self) -> dict[str, float]:
        """Return what the engines count from their start on."""
        java = self._spark._jvm
        tasks = java.org.apache.spark.SparkEnv.get().metricsSystem().getSourcesByName("executor").apply(0)
        files = java.org.apache.hadoop.fs.FileSystem.getAllStatistics()
        counted = {
            "MB written": sum(one.getBytesWritten() for one in files) / 1e6,
            "rows read": tasks.metricRegistry().getCounters().get("recordsRead").getCount(),
            "files read": 0,
        }
        clickhouse = self._clickhouse()
        for name, value in (clickhouse.counters() if clickhouse else {}).items():
            counted[name] += value
        return counted

    def _newest_execution(self) -> int:
        """Return the number of Spark's newest query, once Spark has recorded all of them."""
        self._spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        newest = self._executions.executionsList(max(self._executions.executionsCount() - 1, 0), 1)
        return newest.apply(0).executionId() if newest.size() else -1

    def _files_read(self) -> int:
        """Add up the files that Spark's scans have opened since the last execution that was recorded."""
        self._spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        found, files = self._executions.executionsList(0, EXECUTIONS + 1), 0
        for place in range(found.size() - 1, -1, -1):
            execution = found.apply(place)
            if execution.executionId() <= self._last_execution:
                break
            scans = set(FILES_READ.findall(execution.metrics().mkString("\n")))
            if scans:
                values = self._executions.executionMetrics(execution.executionId()).mkString("\n")
                counts = dict(line.split(" -> ", 1) for line in values.splitlines() if " -> " in line)
                files += sum(_count(counts.get(scan, "0")) for scan in scans)
        return files


def _count(text: str) -> int:
    """Return a number as Spark writes it for people."""
    return int(text.replace(",", "")) if text.replace(",", "").isdigit() else 0


def _processes() -> Iterator[Path]:
    """Return this process and those that it has started, each by its folder in /proc."""
    waiting = [os.getpid()]
    while waiting:
        process = Path(f"/proc/{waiting.pop()}")
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # one may end while it is asked
            for task in (process / "task").iterdir():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    waiting.extend(map(int, (task / "children").read_text().split()))
        yield process


def _of_processes(asked: Callable[[Path], float]) -> float:
    """Add up what is asked of each process; one may end while it is asked."""
    total = 0.0
    for process in _processes():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            total += asked(process)
    return total


def _cpu_seconds() -> float:
    """Add up the seconds of CPU, of user and system, of all processes."""
    ticks = _of_processes(lambda process: sum(map(int, (process / "stat").read_text().rsplit(")", 1)[1].split()[11:13])))
    return ticks / os.sysconf("SC_CLK_TCK")


def _peak_bytes(process: Path) -> int:
    """Return the most memory that a process had since this was last forgotten."""
    found = re.search(r"VmHWM:\s+(\d+) kB", (process / "status").read_text())
    return int(found[1]) * 1024 if found else 0
