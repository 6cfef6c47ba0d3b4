"""Any two acts at once, of two dbt processes on one server, while others read: nothing is lost, doubled or half there."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations_with_replacement
from pathlib import Path

import pyspark
import pytest

from support.dbt_project import VIEW, stranger_files, values, write_files
from support.lives import SCHEMA, SECOND, Life, built, project_files, queries, sums_of, wider_files
from support.processes import Worker, done, rows_in_session, server, start_dbt

pytestmark = [
    pytest.mark.full,
    pytest.mark.only("parquet", "delta", "iceberg"),
    pytest.mark.skipif(pyspark.__version__ < "4", reason="scripts/cluster serves Spark 4"),
]
ONE = ["versioned"]
LEDGER, PROJECTION = built(ONE)
# Of an undo that comes second: what it would undo is compacted.
REFUSED = f"{SECOND}|cannot be undone"
ACTS = ("run", "optimize", "undo", "full refresh", "created again", "projection's run", "projection created again")
# Acts that drop what was garbage before: on plain parquet a query that outlasts two of them, or begins just then, loses a file.
COMPACTS = ("optimize", "undo", "full refresh")
# Acts during which a table is missing or empty for a moment, so that readers, and acts that need it, may stop.
CREATES = ("created again", "projection created again")


class Race:
    """A ledger and its projection on a server, and two processes that run dbt."""

    def __init__(self, folder: Path, target: str, environment: dict[str, str]) -> None:
        self._environment, self._name, self.life, self.target = environment, f"raced_{target}", Life(), target
        project = folder / "project"
        blocks = {"models/folded.sql": VIEW + f"select block from {{{{ collapsing.blocks(ref('{LEDGER}')) }}}}"}
        files = project_files(f"select * from {self._name}.arrived", ONE) | wider_files(ONE) | blocks
        write_files(project, files | stranger_files(self._name, target))
        done(start_dbt(project, environment, "deps"))
        self.rows(f"create schema {self._name}", within=False)
        self.rows(f"create table arrived ({SCHEMA}) using parquet")
        self.workers = [Worker(project, self._name, environment) for _ in range(2)]
        self.stage()
        self.run()

    def rows(self, query: str, within: bool = True) -> list[tuple]:
        """Return the rows of a query, in a session of its own: another one may go on with what it has loaded of Iceberg."""
        return rows_in_session(self._environment, [f"use {self._name}"] * within + [query])

    def stage(self) -> str:
        """Stage the next block; returns its token."""
        self.rows(f"insert into arrived values {values(self.life.next_block())}")
        return f"b{self.life.blocks:04}"

    def run(self, *models: str) -> None:
        """Run some models, or all, which must succeed."""
        ran = self.workers[0].dbt("run", *(("--select", *models) if models else ()))
        assert ran["success"], ran["said"]

    def folded(self) -> frozenset[str]:
        """Return the blocks that the ledger names, each of them once."""
        blocks = [block for (block,) in self.rows("select block from folded")]
        assert len(blocks) == len(set(blocks)), blocks
        return frozenset(blocks)

    def live(self) -> dict[int, tuple]:
        """Return what the ledger shows."""
        rows = self.rows(queries(ONE)[0])
        assert len({row[1] for row in rows}) == len(rows), rows
        return {id_: (version, amount) for _, id_, version, amount in rows}

    def sums(self) -> list[tuple]:
        """Return what the projection shows."""
        return sorted(row[1:] for row in self.rows(queries(ONE)[1]))

    def command(self, act: str) -> dict:
        """Return what a worker is told for an act; an undo is one of the last batch."""
        if act in ("optimize", "undo"):
            batch = {"batch": self.rows(f"select max(ledger_batch) from {LEDGER}")[0][0]} if act == "undo" else {}
            return {"dbt": ["run-operation", f"collapsing.{act}", "--args", json.dumps({"model": LEDGER} | batch)]}
        model = PROJECTION if "projection" in act else LEDGER
        refresh = ["--full-refresh"] if act in ("full refresh", *CREATES) else []
        variables = {"suffix": "_wider"} if act == "created again" else None
        return {"dbt": ["run", *refresh, "--select", model], "variables": variables}

    def recover(self) -> None:
        """Run both tables, whose ledger may have other columns now, and compare them with the batch answer of all blocks."""
        ran = self.workers[0].dbt("run", "--select", *built(ONE))
        if not ran["success"]:
            assert "--full-refresh" in ran["said"], ran["said"]
            ran = self.workers[0].dbt("run", "--full-refresh", "--select", *built(ONE))
            assert ran["success"], ran["said"]
        self.life.check(self.rows, ONE)


@pytest.fixture(scope="module")
def race(tmp_path_factory: pytest.TempPathFactory, target: str) -> Iterator[Race]:
    folder = tmp_path_factory.mktemp("raced")
    with server(target, folder / "server") as environment:
        yield Race(folder, target, environment)


class Readers:
    """Read ledger and projection again and again."""

    def __init__(self, race: Race) -> None:
        self._race, self._done = race, threading.Event()
        self.live: list[dict] = []
        self.sums: list[list] = []
        self.failed: list[str] = []
        self._thread = threading.Thread(target=self._read)

    def _read(self) -> None:
        while not self._done.is_set():
            for read, seen in ((self._race.live, self.live), (self._race.sums, self.sums)):
                try:
                    seen.append(read())
                except Exception as error:
                    self.failed.append(str(error))

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Read for as long as the block lasts."""
        self._thread.start()
        try:
            yield
        finally:
            self._done.set()
            self._thread.join()


@pytest.mark.parametrize("acts", [*combinations_with_replacement(ACTS, 2)], ids=" and ".join)
def test_two_acts_at_once(race: Race, acts: tuple[str, str]) -> None:
    """One of them at least succeeds, the other one may say that it came second; and what both leave is what they say."""
    race.stage()
    race.run(LEDGER, PROJECTION)
    read, last = race.folded(), race.stage()
    race.run(LEDGER)  # the projection is a batch behind
    states = [read, read | {last}, read | {last, race.stage()}]
    answers = [race.life.answer(blocks) for blocks in states]
    told, readers = [race.command(act) for act in acts], Readers(race)
    with readers.at_work():
        for worker, command in zip(race.workers, random.Random(str(acts)).sample(told, 2), strict=True):
            worker.tell(*command["dbt"], variables=command.get("variables"))
        ended = [worker.answer() for worker in race.workers]

    refused = [" ".join(one["said"].split()) for one in ended if not one["success"]]
    assert len(refused) < 2, refused
    assert all(re.search(REFUSED, said) for said in refused if not set(acts) & set(CREATES)), refused

    folded = race.folded()
    assert folded in states and race.live() == race.life.answer(folded)
    if "created again" not in acts:
        assert all(seen in answers for seen in readers.live), readers.live
    if not set(acts) & set(CREATES):
        assert all(seen in map(sums_of, answers) for seen in readers.sums), readers.sums
        loses_files = race.target == "parquet" and set(acts) & set(COMPACTS)
        assert [said for said in readers.failed if not (loses_files and "FILE_NOT_EXIST" in said)] == []
    race.run(PROJECTION)
    assert race.sums() == sums_of(race.life.answer(folded))
    race.recover()
