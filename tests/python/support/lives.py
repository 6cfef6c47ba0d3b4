"""The lives of some keys, which runs that die must not lose: ledgers of every engine and input, and what they must show."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from support.dbt_project import VIEW, DbtProject, model, values

SCHEMA = "position int, id int, version int, is_deleted boolean, amount int, sign int, block string"
EVENTS = {"key": "id", "block": "block", "order_by": "position"}
DELETES = EVENTS | {"is_deleted": "is_deleted"}
LEDGERS = {
    "versioned": DELETES | {"version": "version"},
    "collapsed": DELETES | {"engine": "collapsing"},
    "replaced": DELETES | {"engine": "replacing", "version": "version"},
    "first": EVENTS | {"engine": "deduplicating"},
    "signed": EVENTS | {"engine": "collapsing", "input": "signed", "sign": "sign"},
    "versioned_signed": EVENTS | {"input": "signed", "sign": "sign", "version": "version"},
}
SUMMED = ("versioned", "collapsed", "signed", "versioned_signed")
# What is said of a commit that came second, by the package or by Spark; docs/messages.md has them.
SECOND = "came first|PARTITIONS_ALREADY_EXIST|DELTA_CONCURRENT|DELTA_METADATA_CHANGED|not an ancestor|CommitFailedException"


def project_files(arrived: str, ledgers: Iterable[str] = LEDGERS) -> dict[str, str]:
    """Return a project with ledgers, their projections and two views of all finals, over SQL that gives what arrived."""
    of_events = "position, id, version, is_deleted, amount, block"
    files = {
        "models/stage_events.sql": VIEW + f"select {of_events} from ({arrived}) where is_deleted is not null",
        "models/stage_states.sql": VIEW + f"select {of_events} from ({arrived}) where not is_deleted",
        "models/stage_signed.sql": VIEW
        + f"select position, id, version, amount, sign, block from ({arrived}) where sign is not null",
    }
    finals = []
    for name, settings in ((name, LEDGERS[name]) for name in ledgers):
        files[f"models/{name}.sql"] = model(f"ledger(ref('{_stage_of(settings)}'))", settings)
        finals.append(f"select '{name}' as ledger, id, version, amount from {{{{ collapsing.final(ref('{name}')) }}}}")
    sums = []
    for name in [name for name in SUMMED if name in ledgers]:
        files[f"models/sums_of_{name}.sql"] = model(
            f"projection(ref('{name}'))", {"group_by": {"odd": "id % 2"}, "measures": {"n": "count(*)", "amount": "sum(amount)"}}
        )
        sums.append(f"select '{name}' as ledger, odd, n, amount from {{{{ collapsing.final(ref('sums_of_{name}')) }}}}")
    files["models/finals.sql"] = VIEW + "\nunion all\n".join(finals)
    files["models/sums.sql"] = VIEW + "\nunion all\n".join(sums)
    return files


def wider_files(ledgers: Iterable[str]) -> dict[str, str]:
    """Return models that replace some: while the variable `suffix` is `_wider`, ledgers have one column more."""
    files = {}
    for kind in ("events", "states", "signed"):
        files[f"models/stage_{kind}_wider.sql"] = f"{VIEW}select *, amount as more from {{{{ ref('stage_{kind}') }}}}"
    for name in ledgers:
        settings = LEDGERS[name]
        files[f"models/{name}.sql"] = model(f"ledger(ref('{_stage_of(settings)}' ~ var('suffix', '')))", settings)
    return files


def _stage_of(settings: dict) -> str:
    """Return the name of the stage of a ledger."""
    kind = "signed" if "input" in settings else "states" if settings.get("engine") == "deduplicating" else "events"
    return f"stage_{kind}"


def queries(ledgers: Iterable[str]) -> tuple[str, str]:
    """Return the SQL by which the finals of ledgers, and their projections, are read."""
    names = ", ".join(f"'{name}'" for name in ledgers)
    return f"select * from finals where ledger in ({names})", f"select * from sums where ledger in ({names})"


def built(ledgers: Iterable[str]) -> list[str]:
    """Return the models of ledgers and their projections."""
    return [*ledgers, *(f"sums_of_{name}" for name in SUMMED if name in ledgers)]


class Life:
    """The life of some keys, block by block: the rows staged, and what each engine must show of them."""

    def __init__(self) -> None:
        self.blocks = 0
        self.staged: dict[str, list[tuple]] = {}
        self.live: dict[int, tuple[int, int]] = {}
        self.first: dict[int, tuple[int, int]] = {}

    def next_block(self) -> list[tuple]:
        """Return the rows of the next block: key 1 changes each time, the others come, change and go in turns."""
        self.blocks += 1
        rows: list[tuple] = []
        for id_ in (1, 2 + self.blocks % 3, 5 + self.blocks % 2):
            version, old = self.blocks, self.live.pop(id_, None)
            if old is not None:
                rows.append((id_, old[0], None, old[1], -1))
            if id_ > 1 and old is not None and self.blocks % 4 == 0:
                rows.append((id_, version, True, old[1], None))
                continue
            self.live[id_] = (version, 100 * self.blocks + id_)
            self.first.setdefault(id_, self.live[id_])
            rows.append((id_, version, False, self.live[id_][1], 1))
        token = f"b{self.blocks:04}"
        self.staged[token] = [(position, *row, token) for position, row in enumerate(rows)]
        return self.staged[token]

    def answer(self, blocks: Iterable[str]) -> dict[int, tuple[int, int]]:
        """Return {id: (version, amount)} of the live rows of versioned events of some blocks: the batch answer."""
        last: dict[int, tuple] = {}
        for _, id_, version, is_deleted, amount, *_ in (row for block in blocks for row in self.staged[block]):
            if is_deleted is not None:
                last[id_] = max(last.get(id_, ()), (version, is_deleted, amount))
        return {id_: (version, amount) for id_, (version, is_deleted, amount) in last.items() if not is_deleted}

    def expected(self, ledger: str) -> dict[int, tuple[int, int]]:
        """Return {id: (version, amount)} of the live rows."""
        return self.first if ledger == "first" else self.live

    def check(self, rows: Callable[[str], list], ledgers: Iterable[str] = LEDGERS) -> None:
        """Compare the finals of ledgers and their projections, which `rows` reads by SQL, with what they must be."""
        finals: dict[str, dict] = {name: {} for name in ledgers}
        of_finals, of_sums = queries(finals)
        for ledger, id_, version, amount in rows(of_finals):
            assert id_ not in finals[ledger], f"{ledger} shows {id_} twice"
            finals[ledger][id_] = (version, amount)
        assert finals == {name: self.expected(name) for name in finals}
        groups = [(name, *group) for name in SUMMED if name in finals for group in sums_of(self.live)]
        assert sorted(map(tuple, rows(of_sums))) == sorted(groups)


def sums_of(live: dict[int, tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Return what a projection shows of live rows: (odd, n, amount) of each group."""
    groups = []
    for odd in (0, 1):
        amounts = [amount for id_, (_, amount) in live.items() if id_ % 2 == odd]
        groups += [(odd, len(amounts), sum(amounts))] if amounts else []
    return groups


def live_project(
    make_project: Callable, name: str, files: dict[str, str] | None = None, ledgers: Iterable[str] = LEDGERS
) -> tuple[DbtProject, Life]:
    """Return a project over the table `arrived` of a schema of its own name, nothing staged yet, and the life to stage there."""
    project = make_project(name, project_files(f"select * from {name}.arrived", ledgers) | (files or {}))
    project.sql(f"create schema if not exists {name}")
    project.sql(f"create table {name}.arrived ({SCHEMA}) using parquet")
    return project, Life()


def stage(project: DbtProject, rows: list[tuple]) -> None:
    """Stage rows as the next block of a project that live_project gave."""
    project.sql(f"insert into {project.schema}.arrived values {values(rows)}")


def fold_next(project: DbtProject, life: Life, *models: str) -> None:
    """Stage the next block, and run some models."""
    stage(project, life.next_block())
    project.run("run", "--select", *models)


def operate(project: DbtProject, operation: str, callbacks=(), **arguments):
    """Run an operation of the package; returns dbt's result."""
    return project.invoke("run-operation", f"collapsing.{operation}", "--args", json.dumps(arguments), callbacks=callbacks)
