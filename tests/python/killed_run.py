"""A process of its own that a test kills: recovers, says what it reads, then does what it is told until it is done or dead.

Started by test_kill.py with the project's folder as its argument and the environment of a session of its own. Says on stdout, a
line each: `state` and a JSON object {query: rows}; when a line on stdin has named one of ACTS, `running`; then `done` and the
seconds that it took.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from dbt_project import DbtProject
from lives import LEDGERS, SUMMED

QUERIES = ("select * from finals", "select * from sums")


def _optimize(project: DbtProject) -> None:
    for name in (*LEDGERS, *(f"sums_of_{ledger}" for ledger in SUMMED)):
        project.run("run-operation", "collapsing.optimize", "--args", json.dumps({"model": name}))


ACTS = {
    "run": lambda project: project.run("run"),
    "optimize": _optimize,
    "full-refresh": lambda project: project.run("run", "--full-refresh"),
}


def main(directory: Path) -> None:
    """Run dbt, say what is there, wait to be told what to do, do it."""
    project = DbtProject(directory, directory, schema="killed", target=directory / "target")
    project.run("run")
    print("state", json.dumps({query: project.rows(query) for query in QUERIES}), flush=True)
    act = ACTS[sys.stdin.readline().strip()]
    print("running", flush=True)
    began = time.monotonic()
    act(project)
    print("done", time.monotonic() - began, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
