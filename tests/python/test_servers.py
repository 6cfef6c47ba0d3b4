"""The servers of scripts/cluster: a stranger's project gives the same answer on each. `--target=NAME` asks for one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY, SERVERS
from dbt_project import VIEW, model, stranger_files, write_files
from lives import SCHEMA, project_files
from processes import server_environment, start_dbt

LEDGER = {"key": ["stream", "id"], "version": "version", "is_deleted": "is_deleted", "block": "block"}
BY_PLACE = {
    "group_by": ["place"],
    "measures": {"n": "count(*)", "total": "sum(amount)", "mean": "avg(amount)", "price": "sum(price)"},
}
EVENTS = "stream int, id int, version bigint, is_deleted boolean, place string, amount int, price decimal(38, 18)"


def _arrived(folder: Path, schema: str) -> str:
    """Give SQL over the blocks in a folder, files of JSON lines."""
    row = f"from_json(value, '{schema}') as staged, _metadata.file_name as block"
    return f"select staged.*, block from (select {row} from text.`{folder}`)"


def _project(folder: Path, name: str) -> Path:
    """Make a stranger's project; gives its folder."""
    landing, project = folder / "landing", folder / "project"
    for stage in ("events", "lives"):
        (landing / stage).mkdir(parents=True)
    files = stranger_files(REPOSITORY, name) | project_files(_arrived(landing / "lives", SCHEMA.removesuffix(", block string")))
    files |= {
        "models/events.sql": VIEW + _arrived(landing / "events", EVENTS),
        "models/by_block.sql": model("ledger(ref('events'))", LEDGER),
        "models/places.sql": model("projection(ref('by_block'))", BY_PLACE),
        "models/live_events.sql": VIEW + "select * from {{ collapsing.final(ref('by_block')) }}",
        "models/live_places.sql": VIEW + "select * from {{ collapsing.final(ref('places')) }}",
        "models/tests.yml": "models:\n  - name: by_block\n    data_tests: [collapsing.collapsed]\n",
    }
    write_files(project, files)
    return project


@pytest.mark.only(*SERVERS)
def test_every_step_gives_the_answer_of_plain_python(target: str, tmp_path: Path) -> None:
    """In a process of its own: pytest's may hold a Spark session of another kind."""
    name = f"target_{target}_{os.getpid()}"  # a server keeps its schemas
    project = _project(tmp_path, name)
    environment = server_environment(target) | {"DBT_LOG_PATH": str(tmp_path / "logs")}
    assert start_dbt(project, environment, "deps").wait() == 0
    run = [sys.executable, str(Path(__file__).parent / "server_run.py"), str(project), name, str(tmp_path / "landing")]
    ended = subprocess.run(run, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ended.returncode == 0, ended.stdout[-8000:]
