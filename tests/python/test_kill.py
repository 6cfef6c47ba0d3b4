"""Promise 3, with real kills: SIGKILL of the whole process group at a random moment of a run, an optimize or a full refresh."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from support.dbt_project import stranger_files, write_files
from support.lives import LEDGERS, SCHEMA, Life, project_files
from support.processes import done, start_dbt

# How many kills hit each thing that a process does.
KILLS = {"run": 30, "optimize": 10, "full-refresh": 10}
COLUMNS = [field.split()[0] for field in SCHEMA.split(", ")][:-1]


def _project(folder: Path) -> Path:
    """Make a stranger's project over files of JSON lines, one file per block; returns its folder."""
    landing, project = folder / "landing", folder / "project"
    landing.mkdir()
    row = f"from_json(value, '{SCHEMA.removesuffix(', block string')}')"
    arrived = f"select staged.*, block from (select {row} as staged, _metadata.file_name as block from text.`{landing}`)"
    files = project_files(arrived) | stranger_files("killed")
    write_files(project, files)
    return project


def _land(landing: Path, life: Life) -> None:
    """Land the next block as a file that is there whole or not at all."""
    rows = [dict(zip(COLUMNS, row, strict=False)) for row in life.next_block()]
    hidden = landing / ".landing"
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
    hidden.rename(landing / f"b{life.blocks:04}.json")


class Run:
    """A process that runs some ledgers, and then does what it is told to others, in a process group of its own."""

    def __init__(self, project: Path, environment: dict[str, str], ledgers: Iterable[str]) -> None:
        self._complaints = project.parent / "stderr"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.killed_run", str(project), *ledgers],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints.open("w"),
            env=environment,
            text=True,
            start_new_session=True,
        )

    def said(self, word: str) -> str:
        """Wait for the line that begins with a word; returns the rest of it. AssertionError when the process ends first."""
        for line in self._process.stdout:
            if line.startswith(word):
                return line.removeprefix(word).strip()
        ended = f"the run ended before it said '{word}', with exit code {self._process.wait()}"
        raise AssertionError(f"{ended}: {self._complaints.read_text()[-4000:]}")

    def go_on(self, act: str, ledgers: list[str]) -> None:
        """Let it do one of the keys of KILLS to ledgers and their projections."""
        self._process.stdin.write(f"{act} {' '.join(ledgers)}\n")
        self._process.stdin.flush()
        self.said("running")

    def seconds(self) -> float:
        """Wait until it has ended; returns the seconds that it says it took."""
        seconds = float(self.said("done"))
        self._process.wait()
        return seconds

    def kill_after(self, seconds: float) -> bool:
        """Kill the whole group when some time has passed; returns whether the run was still going."""
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
        "PYTHONPATH": str(Path(__file__).parent),
    }
    (tmp_path / "local").mkdir()
    done(start_dbt(project, environment, "deps"))
    life, draw = Life(), random.Random(20261121)
    left, usual = [act for act, kills in KILLS.items() for _ in range(kills)], {}
    draw.shuffle(left)
    _land(tmp_path / "landing", life)
    run = _recovered(project, environment, life, LEDGERS)
    while left:
        _land(tmp_path / "landing", life)
        act, ledgers = left[-1], draw.sample(sorted(LEDGERS), 2)
        run.go_on(act, ledgers)
        if act in usual:
            delay = draw.uniform(0, usual[act])
            if run.kill_after(delay):
                left.pop()
            else:
                usual[act] = max(delay, 1.0)
            print(
                f"{len(left)} kills left; {act} of {ledgers}: {delay:.1f} s after the start of about {usual[act]:.1f} s",
                flush=True,
            )
        else:
            usual[act] = run.seconds()
        run = _recovered(project, environment, life, ledgers)
    run.kill_after(0)
    _recovered(project, environment, life, LEDGERS).kill_after(0)


def _recovered(project: Path, environment: dict[str, str], life: Life, ledgers: Iterable[str]) -> Run:
    """Start a process that runs some ledgers, and compare what it reads of them with what they must show; returns the process."""
    run = Run(project, environment, ledgers)
    seen = json.loads(run.said("state"))
    life.check(lambda query: [tuple(row) for row in seen[query]], ledgers)
    return run
