"""Promise 3, with real kills: SIGKILL of the whole process group of a run at a random moment, then the next run."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY
from dbt_project import stranger_files
from lives import SCHEMA, Life, project_files

KILLS = 50
COLUMNS = [field.split()[0] for field in SCHEMA.split(", ")][:-1]


def _project(folder: Path) -> Path:
    """Make a stranger's project over files of JSON lines, a file a block; gives its folder."""
    landing, project = folder / "landing", folder / "project"
    landing.mkdir()
    row = f"from_json(value, '{SCHEMA.removesuffix(', block string')}')"
    arrived = f"select staged.*, block from (select {row} as staged, _metadata.file_name as block from text.`{landing}`)"
    files = project_files(arrived) | stranger_files(REPOSITORY, "killed")
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    return project


def _land(landing: Path, life: Life) -> None:
    """Land the next block as a file that is there whole or not at all."""
    rows = [dict(zip(COLUMNS, row, strict=False)) for row in life.next_block()]
    hidden = landing / ".landing"
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
    hidden.rename(landing / f"b{life.blocks:04}.json")


class Run:
    """A process that recovers and runs again, in a process group of its own."""

    def __init__(self, project: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "killed_run.py"), str(project)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
            start_new_session=True,
        )

    def said(self, word: str) -> str:
        """Wait for the line that begins with a word; gives the rest of it. Raises AssertionError when the process ends first."""
        for line in self._process.stdout:
            if line.startswith(word):
                return line.removeprefix(word).strip()
        raise AssertionError(f"the run ended before it said '{word}', with exit code {self._process.wait()}")

    def go_on(self) -> None:
        """Let it run again."""
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        self.said("running")

    def kill_after(self, seconds: float) -> bool:
        """Kill the whole group when some time has passed; gives whether the run was still going."""
        readable, _, _ = select.select([self._process.stdout], [], [], seconds)
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        return not readable


@pytest.mark.full
@pytest.mark.only("parquet")
def test_a_run_that_is_killed_at_any_moment_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    project = _project(tmp_path)
    environment = os.environ | {
        "COLLAPSING_LOCAL": str(tmp_path / "local"),
        "DBT_LOG_PATH": str(tmp_path / "logs"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    (tmp_path / "local").mkdir()
    subprocess.run(
        [sys.executable, "-m", "dbt.cli.main", "--quiet", "deps", "--project-dir", str(project), "--profiles-dir", str(project)],
        env=environment,
        check=True,
    )
    life, draw, kills, usual = Life(), random.Random(20261121), 0, None
    _land(tmp_path / "landing", life)
    while True:
        run = Run(project, environment)
        seen = json.loads(run.said("state"))
        life.check(lambda query, seen=seen: [tuple(row) for row in seen[query]])
        _land(tmp_path / "landing", life)
        run.go_on()
        if usual is None or kills == KILLS:
            usual = float(run.said("done"))
            if kills == KILLS:
                break
            continue
        delay = draw.uniform(0, usual)
        if run.kill_after(delay):
            kills += 1
        else:
            usual = max(delay, 1.0)
        print(f"kill {kills} of {KILLS}, {delay:.1f} s after the start of a run of about {usual:.1f} s", flush=True)
