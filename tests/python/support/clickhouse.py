"""ClickHouse in this process (chdb), beside dbt on Spark: the same blocks go through both, and both are read after each."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass

from chdb.session import Session
from pyspark.sql import SparkSession

from support.clickhouse_streams import Stream
from support.dbt_project import VIEW, DbtProject, model
from support.printed_sql import EXAMPLE3


class ClickHouse:
    """One in-memory server of this process. Merges are stopped, and an INSERT is one part with its rows as they came."""

    def __init__(self) -> None:
        self._session = Session()
        self.run("set optimize_on_insert = 0")

    def run(self, sql: str) -> list[tuple[str | None, ...]]:
        """Run a statement; returns its rows as text, NULL as None."""
        text = self._session.query(sql, "TSV").data()
        lines = csv.reader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE)
        return [tuple(None if value == r"\N" else value for value in line) for line in lines]

    def script(self, sql: str) -> None:
        """Run the statements of a script."""
        for statement in sql.split(";"):
            if statement.strip():
                self.run(statement)

    def recreate(self, name: str, columns: str, engine: str) -> None:
        """Make an empty table that merges nothing by itself, in the place of what was there."""
        self.run(f"drop table if exists {name}")
        self.run(f"create table {name} ({columns}) engine = {engine} settings allow_nullable_key = 1")
        self.run(f"system stop merges {name}")

    def optimized(self, name: str, columns: str, engine: str, select: str) -> list[tuple[str | None, ...]]:
        """Return what OPTIMIZE FINAL leaves of a table, which itself stays as it is: its parts are cloned first."""
        clone = f"{name}_clone"
        self.recreate(clone, columns, engine)
        self.run(f"alter table {clone} replace partition tuple() from {name}")
        self.run(f"system start merges {clone}")
        self.run(f"optimize table {clone} final")
        return self.run(f"select {select} from {clone}")


COLUMNS = (
    "stream Int32, id Int32, version Int64, payload Nullable(Int32), sign Int8, is_deleted UInt8, position Int32, block Int32"
)
STAGED = "stream int, id int, version bigint, payload int, sign tinyint, is_deleted tinyint, position int, block int"


@dataclass(frozen=True)
class Kind:
    """An engine with an input, on both sides.

    Parameters
    ----------
    engine : str
        ClickHouse's engine with its ORDER BY; none where the article's materialized view fills the table.
    settings : dict
        The ledger's settings.
    compared : str
        The columns that both sides give of a row, after `stream`.
    """

    engine: str | None
    settings: dict
    compared: str

    @property
    def forms(self) -> tuple[str, ...]:
        """What is read after every block."""
        return ("final", "optimized") if self.engine else ("final",)


KEY = {"key": ["stream", "id"], "block": "block", "order_by": "position"}
KINDS = {
    "collapsing": Kind(
        "CollapsingMergeTree(sign) order by (stream, id)",
        KEY | {"engine": "collapsing", "input": "signed", "sign": "sign"},
        "id, version, payload, sign",
    ),
    "versioned_collapsing": Kind(
        # versions of ClickHouse's engine are unsigned; the comparison of equal ones is the same
        "VersionedCollapsingMergeTree(sign, version) order by (stream, id)",
        KEY | {"engine": "versioned_collapsing", "input": "signed", "sign": "sign", "version": "version"},
        "id, version, payload, sign",
    ),
    "replacing": Kind(
        "ReplacingMergeTree(version, is_deleted) order by (stream, id)",
        KEY | {"engine": "replacing", "version": "version", "is_deleted": "is_deleted"},
        "id, version, payload",
    ),
    "replacing_last": Kind("ReplacingMergeTree order by (stream, id)", KEY | {"engine": "replacing"}, "id, version, payload"),
    "events": Kind(None, KEY | {"version": "version", "is_deleted": "is_deleted"}, "id, version, payload"),
    "unversioned_deletes": Kind(
        None, KEY | {"version": "version", "is_deleted": "is_deleted", "deletes": "unversioned"}, "id, version, payload"
    ),
}

OPTIMIZED = """{{% set ledger = ref('{kind}') %}}
{{% if execute %}}
{{% set settings = collapsing._ledger_settings(collapsing._model_of(ledger)) %}}
select * from {{{{ collapsing._engine(settings).collapsed(collapsing._visible_rows(ledger), settings) }}}}
{{% endif %}}
"""


def project_files() -> dict[str, str]:
    """Return a project with a stage, a ledger folded block by block, one folded at once, and their finals, for every kind."""
    files = {}
    for kind, how in KINDS.items():
        files[f"models/stage_{kind}.sql"] = VIEW + "select * from {{ target.schema }}.arrived_" + kind
        for ledger in (kind, f"{kind}_at_once"):
            files[f"models/{ledger}.sql"] = model(f"ledger(ref('stage_{kind}'))", how.settings)
            files[f"models/{ledger}_final.sql"] = "select * from {{ collapsing.final(ref('" + ledger + "')) }}"
        if how.engine:
            files[f"models/{kind}_optimized.sql"] = OPTIMIZED.format(kind=kind)
    return files


Rows = Counter[tuple[str | None, ...]]
Observed = dict[tuple[str, str, int], dict[int, Rows]]  # (kind, form, block): {stream: its rows as text}


class Differential:
    """Sends blocks through ClickHouse and through dbt on Spark, and reads both after every block."""

    def __init__(self, project: DbtProject) -> None:
        self.project = project
        self.clickhouse = ClickHouse()

    def observe(self, streams: dict[str, list[Stream]], at_once: Container[str] = KINDS) -> tuple[Observed, Observed]:
        """Return what ClickHouse and what the ledgers show of {kind: streams}, each from empty tables.

        The forms are `final`, `optimized` (what OPTIMIZE FINAL leaves) and, after the last block of the kinds that `at_once` has,
        `at_once`: the final of a ledger that took all blocks as one batch, which ClickHouse's FINAL must equal too.
        """
        theirs: Observed = {}
        ours: Observed = {}
        blocks = {kind: max(map(len, of_kind)) for kind, of_kind in streams.items()}
        self._begin(list(streams))
        for number in range(max(blocks.values())):
            kinds = [kind for kind in streams if number < blocks[kind]]
            ended = [kind for kind in kinds if kind in at_once and number == blocks[kind] - 1]
            for kind in kinds:
                rows = [
                    (stream, row.id, row.version, row.payload, row.sign, row.is_deleted, position, number)
                    for stream, of_stream in enumerate(streams[kind])
                    for position, row in enumerate(of_stream[number] if number < len(of_stream) else (), start=1)
                ]
                self._insert(kind, rows)
                self._stage(kind, rows)
            ledgers = kinds + [f"{kind}_at_once" for kind in ended]
            views = [f"{kind}_at_once_final" for kind in ended]
            if number == 0:
                views += [f"stage_{kind}" for kind in kinds]
                views += [f"{kind}_{form}" for kind in kinds for form in KINDS[kind].forms]
            self.project.run("run", "--select", *ledgers, *views)
            self._read(theirs, ours, kinds, number, ended)
        return theirs, ours

    def _begin(self, kinds: list[str]) -> None:
        """Empty both sides."""
        self.project.sql(f"create schema if not exists {self.project.schema}")
        for kind in kinds:
            for table in (f"arrived_{kind}", kind, f"{kind}_at_once"):
                self.project.sql(f"drop table if exists {self.project.schema}.{table}")
            self.project.sql(f"create table {self.project.schema}.arrived_{kind} ({STAGED}) using parquet")
            if KINDS[kind].engine:
                self.clickhouse.recreate(kind, COLUMNS, KINDS[kind].engine)
            else:
                self.clickhouse.run(f"drop database if exists {kind}")
                self.clickhouse.script(f"create database {kind}; use {kind}; {EXAMPLE3}; use default")

    def _insert(self, kind: str, rows: list[tuple]) -> None:
        """Insert a block into ClickHouse, as one INSERT."""
        if not rows:
            return
        if KINDS[kind].engine:
            table, values = kind, [tuple("NULL" if value is None else str(value) for value in row) for row in rows]
        else:
            # Example3 has one key column: 4 ids a stream
            table = f"{kind}.Stage"
            values = [
                (str(4 * stream + id_), str(payload), "0", str(version), "-1" if is_deleted else "1")
                for stream, id_, version, payload, _, is_deleted, *_ in rows
            ]
        self.clickhouse.run(f"insert into {table} values " + ", ".join(f"({', '.join(row)})" for row in values))

    def _stage(self, kind: str, rows: list[tuple]) -> None:
        """Append a block to the table under a stage."""
        frame = SparkSession.builder.getOrCreate().createDataFrame(rows, STAGED)
        frame.coalesce(1).write.mode("append").insertInto(f"{self.project.schema}.arrived_{kind}")

    def _read(self, theirs: Observed, ours: Observed, kinds: list[str], number: int, ended: list[str]) -> None:
        """Read both sides after a block; `ended` are the kinds that get no more blocks, and are folded at once too."""
        for kind in kinds:
            how = KINDS[kind]
            select = f"stream, {how.compared}"
            if how.engine:
                theirs[kind, "final", number] = by_stream(self.clickhouse.run(f"select {select} from {kind} final"))
                theirs[kind, "optimized", number] = by_stream(self.clickhouse.optimized(kind, COLUMNS, how.engine, select))
            else:
                seen = self.clickhouse.run(f"select intDiv(id, 4), id % 4, _version, metric1 from {kind}.Example3 final")
                theirs[kind, "final", number] = by_stream(seen)
            for form in how.forms:
                ours[kind, form, number] = self._ours(f"{kind}_{form}", how)
            if kind in ended:
                theirs[kind, "at_once", number] = theirs[kind, "final", number]
                ours[kind, "at_once", number] = self._ours(f"{kind}_at_once_final", how)

    def _ours(self, relation: str, how: Kind) -> dict[int, Rows]:
        rows = self.project.rows(f"select stream, {how.compared} from {relation}")
        return by_stream([tuple(None if value is None else str(value) for value in row) for row in rows])


def by_stream(rows: list[tuple[str | None, ...]]) -> dict[int, Rows]:
    """Return rows, whose first value is the stream, as {stream: multiset of the rest}."""
    found: dict[int, Rows] = {}
    for stream, *rest in rows:
        found.setdefault(int(stream), Counter())[tuple(rest)] += 1
    return found


def differing(theirs: Observed, ours: Observed, kind: str) -> dict[int, str]:
    """Return {stream: what differs first} of a kind; empty where both sides are equal after every block."""
    found: dict[int, str] = {}
    for (of_kind, form, number), expected in theirs.items():
        if of_kind != kind:
            continue
        actual = ours[of_kind, form, number]
        for stream in expected.keys() | actual.keys():
            if expected.get(stream) != actual.get(stream):
                found.setdefault(
                    stream,
                    f"{form} after block {number + 1}: ClickHouse {sorted(expected.get(stream, Counter()).elements(), key=str)}, "
                    f"ours {sorted(actual.get(stream, Counter()).elements(), key=str)}",
                )
    return found
