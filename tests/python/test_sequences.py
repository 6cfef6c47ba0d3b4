"""Random sequences of all that may happen to a ledger and its projections, each step compared with a few lines of Python."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from contextlib import redirect_stdout

import pytest

from support.dbt_project import VIEW, DbtProject, model, values
from support.failpoint import Failpoint
from support.lives import operate
from support.sessions import set_in_sessions

EVENTS = {"key": "id", "is_deleted": "is_deleted", "order_by": "position", "block": "block"}
LEDGERS = {
    "versioned": EVENTS | {"version": "version"},
    "forgetful": EVENTS | {"version": "version", "tombstone_retention": 2},
    "arriving": EVENTS | {"engine": "collapsing"},
    "winning": EVENTS | {"engine": "replacing", "version": "version"},
    "first": {"engine": "deduplicating", "key": "id", "order_by": "position", "block": "block"},
}
SESSIONS = {
    "ansi": {"spark.sql.ansi.enabled": "true"},
    "no adaptive execution": {"spark.sql.adaptive.enabled": "false"},
}
PROJECTIONS = ("sums", "late")
Rows = dict[int, tuple[int, int]]


def models() -> dict[str, str]:
    """Return the models: a ledger of each engine, a projection, one that is added later, and their finals."""
    files = {"models/stage.sql": VIEW + "select * from sequences.arrived"}
    measures = {"n": "count(*)", "amount": "sum(amount)", "greatest": "max(version)"}
    for name, settings in LEDGERS.items():
        evolving = "{{ config(on_schema_change='append_new_columns') }}\n"
        files[f"models/{name}.sql"] = evolving + model("ledger(ref('stage'))", settings)
        if name != "winning":
            group = {"odd": "id % 3", "day": "cast(at as date)"}
            files[f"models/{name}_sums.sql"] = model(f"projection(ref('{name}'))", {"group_by": group, "measures": measures})
            files[f"models/{name}_late.sql"] = model(f"projection(ref('{name}'))", {"group_by": [], "measures": measures})
        for of in ["", *(f"_{projection}" for projection in PROJECTIONS if name != "winning")]:
            files[f"models/{name}{of}_live.sql"] = VIEW + f"select * from {{{{ collapsing.final(ref('{name}{of}')) }}}}"
    return files


@pytest.fixture(scope="module")
def project(make_project) -> DbtProject:
    """A project of all ledgers; nothing has arrived."""
    project = make_project("sequences", models())
    project.sql("create schema if not exists sequences")
    return project


class Sequence:
    """One ledger with its projections, what has happened to it, and what it must show of that.

    Blocks are numbered as they land. A row is (id, version, is_deleted); its amount follows from id and version, so that a row
    that comes again is the same. `folded` has the blocks of each batch that was not undone; `forgotten`, by the last batch before
    a compaction, the tombstones that it dropped, {id: version}.
    """

    def __init__(self, project: DbtProject, target: str, name: str, seed: int) -> None:
        self.project, self.name, self.random = project, name, random.Random(seed)
        self.done: list[str] = []
        self.blocks: list[list[tuple]] = []
        self.folded: dict[int, list[int]] = {}
        self.forgotten: dict[int, dict[int, int]] = {}
        self.projections = ["sums"] if name != "winning" else []
        self.end_session: Callable[[], None] = lambda: None
        for table in [name, *(f"{name}_{projection}" for projection in PROJECTIONS)]:
            project.sql(f"drop table if exists sequences.{table}")
        project.sql("drop table if exists sequences.arrived")
        columns = "position int, id int, version int, is_deleted boolean, amount int, at timestamp, block string"
        # where Iceberg's catalog drops a parquet table, its files stay
        project.sql(f"create table sequences.arrived ({columns}) using {'iceberg' if target == 'iceberg' else 'parquet'}")
        self.land()
        self.run()

    # what may happen

    def land(self) -> None:
        """A block of new and changed rows arrives, some of them older than what is known."""
        version = len(self.blocks) + 1
        rows = []
        for id_ in self.random.sample(range(6), 3):
            age = self.random.choice((0, 0, 0, 1, 3))
            rows.append((id_, max(1, version - age), self.name != "first" and self.random.random() < 0.25))
        self._stage(rows)

    def replay(self) -> None:
        """A block arrives again, under another token."""
        self._stage(self.random.choice(self.blocks))

    def run(self) -> None:
        """Fold what has arrived."""
        self.project.run("run", "--select", "stage", *self._built())
        self._learn()

    def run_again(self) -> None:
        """A second run finds nothing to do."""
        self.run()
        before = self._visible()
        self.run()
        assert self._visible() == before

    def die(self) -> None:
        """A run dies before one of its statements, and the next goes on."""
        begins = self.random.choice(("describe", "show", "select", "with", "insert", "alter table", "call", "refresh", "create"))
        failpoint = Failpoint((self.random.choice(self._built()),), begins, self.random.randint(1, 3))
        self.project.invoke("run", "--select", "stage", *self._built(), callbacks=[failpoint])
        self.run()

    def optimize(self) -> None:
        """The oldest batches become one compacted batch."""
        keep = self.random.choice((0, 0, 1, 2))
        before = self._visible()
        assert operate(self.project, "optimize", model=self.name, keep_batches=keep).success
        after = self._visible()
        assert len(after) <= len(before)
        if after[0] < before[0]:
            self.forgotten[abs(before[-1])] = self._old_tombstones(-after[0])

    def undo(self) -> None:
        """The newest batches from some batch on are undone, which is asked for twice; the next run folds their blocks again."""
        compacted, *later = self._visible()
        if later:
            first = self.random.choice(later[-2:])
            for _ in range(2):
                assert operate(self.project, "undo", model=self.name, batch=first).success
        self.run()

    def _old_tombstones(self, upto: int) -> dict[int, int]:
        """Return {id: version} of the tombstones that a compaction of the batches up to `upto` drops."""
        if self.name != "forgetful":
            return {}
        read = [block for batch, blocks in self.folded.items() if batch <= upto for block in blocks]
        oldest = max((version for block in read for _, version, _ in self.blocks[block]), default=0) - 2
        return {id_: at for id_, (at, deleted) in self._last_states(upto).items() if deleted and at < oldest}

    def refresh(self) -> None:
        """The ledger is folded anew from its stage."""
        self.project.run("run", "--full-refresh", "--select", "stage", self.name)
        self._learn()
        last = -self._visible()[0]
        kept = self.project.rows(f"select id from {self.project.data(f'sequences.{self.name}')} where ledger_sign = 0")
        self.forgotten = {last: {id_: at for id_, at in self._old_tombstones(last).items() if (id_,) not in kept}}
        self.run()

    def widen(self) -> None:
        """The stage has a new column."""
        self.project.sql(f"alter table sequences.arrived add columns (more_{len(self.done)} int)")
        self.run()

    def change_session(self) -> None:
        """The next runs have another session."""
        self.end_session()
        self.end_session = set_in_sessions(self.random.choice([*SESSIONS.values()]))
        self.run()

    def add_projection(self) -> None:
        """A projection comes later than its ledger."""
        if self.projections and "late" not in self.projections:
            self.projections.append("late")
        self.run()

    # what must be

    def expected(self, upto: int | None = None) -> Rows:
        """Return {id: (version, amount)} of the live rows after a batch, by default the last."""
        last = self._last_states(upto)
        return {id_: (version, 100 * version + id_) for id_, (version, deleted) in last.items() if not deleted}

    def _last_states(self, upto: int | None) -> dict[int, tuple[int, bool]]:
        """Return {id: (version, is_deleted)} of what each key has seen last, up to a batch or in all."""
        last: dict[int, tuple[int, bool]] = {}
        for batch, blocks in sorted(self.folded.items()):
            for _, dropped in sorted((at, dropped) for at, dropped in self.forgotten.items() if at < batch):
                last = {id_: state for id_, state in last.items() if state != (dropped.get(id_), True)}
            if upto is not None and batch > upto:
                continue
            for id_, version, deleted in (row for block in blocks for row in self.blocks[block]):
                old = last.get(id_)
                newer = {
                    "arriving": lambda: True,
                    "winning": lambda old=old, new=version: old is None or new >= old[0],
                    "first": lambda old=old: old is None,
                }.get(self.name, lambda old=old, new=(version, deleted): old is None or new > old)()
                last[id_] = (version, deleted) if newer else old
        return last

    def check(self) -> None:
        """Compare all that can be read with what must be."""
        ledger, live = f"sequences.{self.name}", self.expected()
        rows = self.project.rows(f"select id, version, amount from {ledger}_live")
        assert len({row[0] for row in rows}) == len(rows), "a key is shown twice"
        assert {id_: rest for id_, *rest in rows} == {id_: [*rest] for id_, rest in live.items()}
        for projection in self.projections:
            found = self.project.rows(f"select * from {ledger}_{projection}_live")
            assert sum(row[-3] for row in found) == len(live)
            assert sum(row[-2] for row in found) == sum(amount for _, amount in live.values())
            assert max((row[-1] for row in found), default=None) == max((version for version, _ in live.values()), default=None)
        compacted, *later = self._visible()
        batches = [-compacted, *later]
        status = self._status()
        unread = len(self.blocks) - sum(map(len, self.folded.values()))
        assert (status["last_batch"], status["compacted"], status["unread_blocks"]) == (batches[-1], batches[0], unread)
        assert status["live"] in (len(live), None), "it is not known where rows are replaced"
        built = [f"{self.name}_{projection}" for projection in self.projections]
        behind = [reader["name"] for reader in status["readers"] if reader["name"] in built and reader["lag_batches"]]
        assert not behind, status
        asked = self.random.choice(batches)
        self.project.write(
            "models/then.sql",
            f"{VIEW}select id, version, amount from {{{{ collapsing.final(ref('{self.name}'), as_of={asked}) }}}}",
        )
        self.project.run("run", "--select", "then")
        rows = self.project.rows("select * from sequences.then")
        assert {id_: rest for id_, *rest in rows} == {id_: [*rest] for id_, rest in self.expected(asked).items()}, (
            f"as_of={asked}"
        )

    # how

    def _status(self) -> dict:
        """Return what status tells of the ledger."""
        with redirect_stdout(io.StringIO()) as printed:
            assert operate(self.project, "status", model=self.name, format="json").success
        return json.loads(printed.getvalue().strip().splitlines()[-1])[0]

    def _stage(self, rows: list[tuple]) -> None:
        staged = [
            (position, id_, version, deleted, 100 * version + id_, f"b{len(self.blocks):04}")
            for position, (id_, version, deleted) in enumerate(rows)
        ]
        columns = "position, id, version, is_deleted, amount, block"
        self.project.sql(
            f"insert into sequences.arrived (position, id, version, is_deleted, amount, at, block) select position, id, version, "
            f"is_deleted, amount, timestamp_micros(1388532600000000 + 3600000000 * version), block from values {values(staged)} "
            f"as t ({columns})"
        )
        self.blocks.append(rows)

    def _built(self) -> list[str]:
        models = [self.name, *(f"{self.name}_{projection}" for projection in self.projections)]
        return models + [f"{name}_live" for name in models]

    def _visible(self) -> list[int]:
        return self.project.visible(f"sequences.{self.name}")

    def _learn(self) -> None:
        """Learn which batch has folded which block: what dies leaves it open."""
        notes = self.project.notes(f"sequences.{self.name}", "block")
        rows = self.project.rows(f"select batch, block from {notes}")
        assert sorted(block for _, block in rows) == [f"b{number:04}" for number in range(len(self.blocks))], "each block once"
        self.folded = {
            batch: sorted(int(block[1:]) for folded_in, block in rows if folded_in == batch) for batch in {row[0] for row in rows}
        }


STEPS = (
    *(Sequence.land, Sequence.land, Sequence.replay, Sequence.run, Sequence.run_again, Sequence.die, Sequence.optimize),
    *(Sequence.undo, Sequence.refresh, Sequence.widen, Sequence.change_session, Sequence.add_projection),
)
CASES = [("versioned", 1), *((name, seed) for seed in range(2, 10) for name in LEDGERS)]


@pytest.mark.full
@pytest.mark.only("parquet", "delta", "iceberg")
@pytest.mark.parametrize(("name", "seed"), CASES)
def test_whatever_happens_a_ledger_shows_what_a_few_lines_of_python_say(project, target: str, name: str, seed: int) -> None:
    sequence = Sequence(project, target, name, seed)
    try:
        for _ in range(8):
            step = sequence.random.choice(STEPS)
            sequence.done.append(step.__name__)
            step(sequence)
            if step in (Sequence.land, Sequence.replay):
                continue  # nothing is folded yet
            sequence.check()
    except Exception as error:
        error.add_note(f"{name}, seed {seed}: {', '.join(sequence.done)}")
        raise
    finally:
        sequence.end_session()
