"""Promise 3, with real kills: SIGKILL of a whole process group at any moment of an act that changes ledgers."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from support.dbt_project import stranger_files, write_files
from support.lives import LEDGERS, SCHEMA, Life, built, project_files, queries, wider_files
from support.processes import Worker, done, start_dbt

# How many kills hit each thing that a process does.
KILLS = {"run": 8, "optimize": 4, "undo": 4, "full refresh": 4, "created again": 4}
COLUMNS = [field.split()[0] for field in SCHEMA.split(", ")][:-1]


class Killed:
    """A stranger's project over files of JSON lines, one file per block, and the process that runs it until it is killed."""

    def __init__(self, folder: Path, target: str) -> None:
        self._landing, self._project, self.life = folder / "landing", folder / "project", Life()
        self._landing.mkdir()
        row = f"from_json(value, '{SCHEMA.removesuffix(', block string')}')"
        lines = f"select {row} as staged, _metadata.file_name as block from text.`{self._landing}`"
        arrived = f"select staged.*, block from ({lines})"
        write_files(self._project, project_files(arrived) | wider_files(LEDGERS) | stranger_files("killed", target))
        self._environment = os.environ | {
            "COLLAPSING_LOCAL": str(folder / "local"),
            "DBT_LOG_PATH": str(folder / "logs"),
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
            "DBT_TARGET": target,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        (folder / "local").mkdir()
        done(start_dbt(self._project, self._environment, "deps"))

    def land(self) -> None:
        """Land the next block as a file that is there whole or not at all."""
        rows = [dict(zip(COLUMNS, row, strict=False)) for row in self.life.next_block()]
        hidden = self._landing / ".landing"
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
        hidden.rename(self._landing / f"b{self.life.blocks:04}.json")

    def recover(self, ledgers: Iterable[str], act: str = "") -> None:
        """Start a process, run some ledgers, of which `act` may have left some with other columns, and compare what they show."""
        self.worker = Worker(self._project, "killed", self._environment)
        select = [] if set(ledgers) == set(LEDGERS) else ["--select", *built(ledgers)]
        ran = self.worker.dbt("run", *select)
        if not ran["success"] and act == "created again":
            assert "--full-refresh" in ran["said"], ran["said"]
            ran = self.worker.dbt("run", "--full-refresh", *select)
        assert ran["success"], ran["said"]
        seen = self.worker.rows(*queries(ledgers))
        self.life.check(seen.__getitem__, ledgers)

    def begin(self, act: str, ledgers: list[str]) -> None:
        """Let the process do something to ledgers, of operations to the first one."""
        one = {"model": ledgers[0]}
        if act == "undo":  # of a batch that the block just landed has given
            assert self.worker.dbt("run", "--select", *built(ledgers))["success"]
            last = f"select max(ledger_batch) from {ledgers[0]}"
            one["batch"] = self.worker.rows(last)[last][0][0]
        if act in ("optimize", "undo"):
            self.worker.tell("run-operation", f"collapsing.{act}", "--args", json.dumps(one))
        else:
            refresh = [] if act == "run" else ["--full-refresh"]
            variables = {"suffix": "_wider"} if act == "created again" else None
            self.worker.tell("run", *refresh, "--select", *built(ledgers), variables=variables)


@pytest.mark.full
@pytest.mark.only("parquet", "delta", "iceberg")
def test_an_act_that_is_killed_at_any_moment_loses_nothing_and_doubles_nothing(tmp_path: Path, target: str) -> None:
    killed, draw, usual = Killed(tmp_path, target), random.Random(20261121), {}
    left = [act for act, kills in KILLS.items() for _ in range(kills)]
    draw.shuffle(left)
    killed.land()
    killed.recover(LEDGERS)
    while left:
        killed.land()
        act, ledgers = left[-1], draw.sample(sorted(LEDGERS), 2)
        killed.begin(act, ledgers)
        if act not in usual:
            usual[act] = killed.worker.answer()["seconds"]
            killed.worker.kill_after(0)
        else:
            delay = draw.uniform(0, usual[act])
            if killed.worker.kill_after(delay):
                left.pop()
            else:
                usual[act] = max(delay, 1.0)
            print(f"{len(left)} kills left; {act} of {ledgers}: after {delay:.1f} s of about {usual[act]:.1f} s", flush=True)
        killed.recover(ledgers, act)
    killed.worker.kill_after(0)
    killed.recover(LEDGERS)
    killed.worker.kill_after(0)
