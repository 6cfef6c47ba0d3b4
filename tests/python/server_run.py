"""A process of its own that runs a stranger's project on one server, block by block, and checks every step.

Started by test_servers.py with the project's folder, its schema and the landing folder as arguments, the target in DBT_TARGET and
a session's settings in the environment. Ends with an exception when something is not as it must be.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dbt.adapters.factory import get_adapter_by_type
from dbt_project import DbtProject
from lives import LEDGERS, SCHEMA, SUMMED, Life
from streams import Stream, check_streams, collect
from streams import streams as drawn

STREAMS, BLOCKS = 60, 4
LIVES = "--select", "stage_events+", "stage_states+", "stage_signed+"  # a table of every engine: not in every step
LIFE_COLUMNS = [field.split()[0] for field in SCHEMA.split(", ")][:-1]


class Target:
    """A project on whatever target DBT_TARGET names, read the way dbt reads, and the folder in which blocks land."""

    def __init__(self, directory: Path, schema: str, landing: Path) -> None:
        self.project = DbtProject(directory, directory, schema=schema, target=directory / "target")
        self.schema, self.landing = schema, landing

    def rows(self, sql: str) -> list[tuple]:
        """Give the rows of a query; `from` names tables of the project's schema."""
        adapter = get_adapter_by_type("spark")
        with adapter.connection_named("test"):
            _, cursor = adapter.connections.add_query(sql.replace(" from ", f" from {self.schema}."), auto_begin=False)
            return [tuple(row) for row in cursor.fetchall()]

    def execute(self, statement: str) -> None:
        """Run a statement that gives no rows."""
        adapter = get_adapter_by_type("spark")
        with adapter.connection_named("test"):
            adapter.execute(statement)

    def land(self, stage: str, block: str, rows: Sequence[dict]) -> None:
        """Land a block as a file of JSON lines that is there whole or not at all."""
        hidden = self.landing / stage / ".landing"
        hidden.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))
        hidden.rename(self.landing / stage / f"{block}.json")

    def land_events(self, streams: Sequence[Stream], number: int, block: str) -> None:
        """Land every stream's block `number`."""
        rows = [{"stream": place} | asdict(event) for place, blocks in enumerate(streams) for event in blocks[number]]
        self.land("events", block, rows)

    def land_life(self, life: Life) -> None:
        """Land the next block of the keys whose life is followed."""
        rows = [dict(zip(LIFE_COLUMNS, row, strict=False)) for row in life.next_block()]
        self.land("lives", f"b{life.blocks:04}", rows)

    def sizes(self) -> dict[str, int]:
        """Give how many rows the ledger of the streams and its projection hold, without those that only mark a batch."""
        counted = {"by_block": "id", "places": "ledger_sign"}
        return {table: self.rows(f"select count({column}) from {table}")[0][0] for table, column in counted.items()}

    def operate(self, operation: str, model: str) -> None:
        """Run an operation of the package on a model."""
        self.project.run("run-operation", f"collapsing.{operation}", "--args", json.dumps({"model": model}))


def say(text: str) -> None:
    """Say how far the run has come: the last line before a traceback tells where it broke."""
    print(f"--- {text}", flush=True)


def main(directory: Path, schema: str, landing: Path) -> None:
    """Run the project block by block, with a block that changes nothing, a run without a block, and a full refresh."""
    target, life = Target(directory, schema, landing), Life()
    streams = collect(drawn(BLOCKS), STREAMS, random_seed=20261121)
    for number in range(BLOCKS):
        say(f"block {number + 1}")
        target.land_events(streams, number, f"b{number:04}")
        target.project.run("run", "--select", "events+")
        check_streams(target.rows, streams, number + 1)

    say("undo, and undo of the undo")
    before = target.rows("select * from live_events")
    for is_back in (False, True):
        target.operate("undo", "by_block")
        target.project.run("run", "--select", "events+")
        assert (Counter(target.rows("select * from live_events")) == Counter(before)) == is_back
    check_streams(target.rows, streams, BLOCKS)

    say("a block of old events: nothing changes")
    before = target.sizes()
    target.land_events(streams, 1, "old")
    target.project.run("run", "--select", "events+")
    assert target.sizes() == before
    check_streams(target.rows, streams, BLOCKS)

    say("a run without a new block")
    target.project.run("run", "--select", "events+")
    assert target.sizes() == before

    for block in (1, 2, 3):
        say(f"every engine, block {block}")
        target.land_life(life)
        target.project.run("run", *LIVES)
        life.check(target.rows)

    say("tests of the package")
    assert set(target.project.run("test").values()) == {"pass"}

    say("optimize")
    for model in (*LEDGERS, *(f"sums_of_{name}" for name in SUMMED), "by_block", "places"):
        target.operate("optimize", model)
    life.check(target.rows)
    check_streams(target.rows, streams, BLOCKS)
    for ledger in (*LEDGERS, "by_block"):
        assert target.rows(f"select max(ledger_batch) < 0, count_if(ledger_sign = -1) from {ledger}") == [(True, 0)], ledger

    say("every engine, a block upon the base")
    target.land_life(life)
    target.project.run("run")
    life.check(target.rows)
    check_streams(target.rows, streams, BLOCKS)

    say("full refresh")
    target.project.run("run", "--full-refresh")
    check_streams(target.rows, streams, BLOCKS)
    life.check(target.rows)

    say("a block after the full refresh")
    target.land_life(life)
    target.land("events", "after", [{"stream": 0, "id": 99, "version": 1, "is_deleted": False, "place": "new", "amount": 5}])
    target.project.run("run")
    life.check(target.rows)
    assert target.rows("select id, place, amount, price from live_events where id = 99") == [(99, "new", 5, None)]
    assert target.rows("select n, total from live_places where place = 'new'") == [(1, 5)]
    target.execute(f"drop schema {schema} cascade")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
