"""A process that runs dbt in a project as it is told, line by line, until its input ends or a test kills it.

`Worker` in support/processes.py starts it, with the project's folder and its schema as arguments. Each line of its input is a
JSON object: `dbt`, the arguments of a command, and `variables`; or `rows`, queries. It says `begun`, and then `answer` and a JSON
object: `success`, what was `said` of an error, and `seconds`; or the rows of each query.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from support.dbt_project import DbtProject


def main(directory: Path, schema: str) -> None:
    """Do what each line of the input says."""
    project = DbtProject(directory, directory, schema=schema, target=directory / f"target_{os.getpid()}")
    for line in sys.stdin:
        told = json.loads(line)
        print("begun", flush=True)
        answer = _run(project, **told) if "dbt" in told else {query: project.rows(query) for query in told["rows"]}
        print("answer", json.dumps(answer), flush=True)


def _run(project: DbtProject, dbt: list[str], variables: dict | None) -> dict:
    """Run a command of dbt; returns how it went."""
    said, began = [], time.monotonic()
    hears = [lambda event: said.append(event.info.msg) if event.info.level == "error" else None]
    result = project.invoke(*dbt, variables=variables, callbacks=hears)
    return {"success": result.success, "said": "\n".join(said), "seconds": time.monotonic() - began}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
