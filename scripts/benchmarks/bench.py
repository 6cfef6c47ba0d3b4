"""Measure what the documents claim about speed: run by scripts/bench, which sets up Java, Python and the environment.

What is compared takes turns in one Spark session, so that a noisy machine is as noisy for each.
"""

from __future__ import annotations

import datetime
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

import options
from results import Results
from workspace import InUse, alone, start_afresh

if TYPE_CHECKING:
    from session import Bench

FOLDERS = ("warehouse", "metastore", "landing", "streamed", "target", "cold")  # of ours, emptied first


def main() -> None:
    """Measure what is asked for."""
    target, settings = options.read()
    local = Path(os.environ["COLLAPSING_LOCAL"])
    local.mkdir(parents=True, exist_ok=True)
    try:
        with alone(local):
            start_afresh(local, FOLDERS)
            from session import Bench

            bench = Bench(local, target, Console(width=None if sys.stdout.isatty() else 160))
            for name, setting in settings.items():
                bench.use_partitions(setting.get("partitions", 4))
                bench.drop()
                results = Results(name, target, setting, _machine(bench))
                try:
                    options.MEASURES[name].run(bench, results)
                except BaseException:
                    setting["run"] = "unfinished"  # a part of the file's name: whole figures are not overwritten
                    raise
                finally:  # what was measured is kept, whatever stopped the rest
                    if results.comparisons:
                        bench.console.print(f"[dim]{results.write(local / 'results')}", soft_wrap=True)
            bench.close()
    except InUse as error:
        sys.exit(f"[bench] {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def _machine(bench: Bench) -> dict[str, Any]:
    """Say what the figures were made on, for whoever reads them later."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": datetime.date.today().isoformat(),
        "cores": os.cpu_count(),
        "memory": f"{memory:.0f} GiB",
        "system": platform.system(),
        "Spark": bench.spark.version,
        "Java": bench.spark._jvm.System.getProperty("java.version"),
        "driver": bench.spark.conf.get("spark.driver.memory"),
    }


if __name__ == "__main__":
    main()
