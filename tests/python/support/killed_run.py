"""A process of its own that a test kills: recovers, says what it reads, then does what it is told until it is done or dead.

test_kill.py starts it with the project's folder and the ledgers to run as its arguments, and the environment of a session of
its own. Says on stdout, a line each: `state` and a JSON object {query: rows} of those ledgers; when a line on stdin has named
one of ACTS and the ledgers to do it to, `running`; then `done` and the seconds that it took. Projections go with their ledgers.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from support.dbt_project import DbtProject
from support.lives import LEDGERS, built, queries


def _run(project: DbtProject, ledgers: list[str], *arguments: str) -> None:
    selected = ["--select", *built(ledgers)] if set(ledgers) < set(LEDGERS) else []
    project.run("run", *arguments, *selected)


def _optimize(project: DbtProject, ledgers: list[str]) -> None:
    for name in ledgers:
        project.run("run-operation", "collapsing.optimize", "--args", json.dumps({"model": name}))


def _full_refresh(project: DbtProject, ledgers: list[str]) -> None:
    _run(project, ledgers, "--full-refresh")


ACTS = {"run": _run, "optimize": _optimize, "full-refresh": _full_refresh}


def main(directory: Path, *ledgers: str) -> None:
    """Run dbt, say what is there, wait to be told what to do, do it."""
    project = DbtProject(directory, directory, schema="killed", target=directory / "target")
    _run(project, ledgers)
    print("state", json.dumps({query: project.rows(query) for query in queries(ledgers)}), flush=True)
    act, *others = sys.stdin.readline().split()
    print("running", flush=True)
    began = time.monotonic()
    ACTS[act](project, others)
    print("done", time.monotonic() - began, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
