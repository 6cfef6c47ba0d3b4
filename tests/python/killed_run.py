"""A process of its own that a test kills: recovers, says what it reads, then runs again until it is done or dead.

Started by test_kill.py with the project's folder as its argument and the environment of a session of its own. Says on stdout, a
line each: `state` and a JSON object {query: rows}, then after a line on stdin `running`, then `done` and the run's seconds.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from dbt_project import DbtProject

QUERIES = ("select * from finals", "select * from sums")


def main(directory: Path) -> None:
    """Run dbt, say what is there, wait to be told to go on, run again."""
    project = DbtProject(directory, directory, schema="killed", target=directory / "target")
    project.run("run")
    print("state", json.dumps({query: project.rows(query) for query in QUERIES}), flush=True)
    sys.stdin.readline()
    print("running", flush=True)
    began = time.monotonic()
    project.run("run")
    print("done", time.monotonic() - began, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
