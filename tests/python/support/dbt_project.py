"""A dbt project under test: one dbtRunner and one Spark session in this process, however many projects there are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner, dbtRunnerResult
from dbt.contracts.graph.manifest import Manifest
from dbt_common.events.base_types import EventMsg
from pyspark.sql import SparkSession

from support import shortcuts

REPOSITORY = Path(__file__).resolve().parents[3]


shortcuts.take()

VIEW = "{{ config(materialized='view') }}\n"
# Variables on which the names of tables depend: dbt asks for them when it parses. Others are looked up when a model runs.
NAMING = ("suffix",)
# The fields of a ledger's notes.
NOTE = (
    "kind string, batch int, `rows` bigint, act string, run_id string, started_at timestamp, blocks bigint, rows_read bigint, "
    "decisions map<string, bigint>, states bigint, cancels bigint, tombstones bigint, reason string, `row` string"
)
# Settings of a ledger of versioned events with deletes.
LEDGER = {"key": "id", "version": "version", "is_deleted": "is_deleted", "block": "block"}


def model(body: str, settings: dict) -> str:
    """Return the SQL of a model that holds nothing but its settings and one macro call."""
    return f"{{{{ config(meta={{'collapsing': {settings!r}}}) }}}}\n{{{{ collapsing.{body} }}}}\n"


def given(**arguments) -> dict:
    """Return the arguments of a generic test in YAML."""
    return {"arguments": arguments}


def values(rows: Iterable[tuple]) -> str:
    """Return rows of None, text, numbers and truth values as the rows of a VALUES clause."""
    return ", ".join("(" + ", ".join("null" if value is None else repr(value) for value in row) + ")" for row in rows)


def stranger_files(name: str, target: str = "parquet", package: Path = REPOSITORY) -> dict[str, str]:
    """Return the files of a user's project that installs the package from a folder, {path: text}.

    `name` is its schema too; its tables have the format of the target of profiles.yml.
    """
    file_format = f"models: {{+file_format: {target}}}\n" if target in ("delta", "iceberg") else ""
    profiles = (REPOSITORY / "profiles" / "profiles.yml").read_text()
    profiles = re.sub(r"^\w+:$", f"{name}:", profiles, count=1, flags=re.MULTILINE)
    return {
        "profiles.yml": re.sub(r"schema: \S+", f"schema: {name}", profiles),
        "packages.yml": f"packages:\n  - local: {package}\n",
        "dbt_project.yml": f"name: {name}\nversion: '1.0'\nprofile: {name}\nmodel-paths: [models]\ntarget-path: target\n"
        + file_format,
    }


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write files of a project, {path: text}, making their folders."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


class DbtFailed(AssertionError):
    """A dbt command that was expected to succeed did not; the message holds what dbt said of each node."""


class DbtProject:
    """Runs dbt commands in one project directory and reads its tables through the same Spark session.

    Parameters
    ----------
    directory : Path
        The project (dbt_project.yml).
    profiles : Path
        The directory of profiles.yml.
    schema : str
        The target schema, used by `rows` as the current one.
    target : Path
        Where dbt writes what it compiles.
    """

    def __init__(self, directory: Path, profiles: Path, schema: str, target: Path) -> None:
        self.directory = directory
        self.schema = schema
        self.target = target
        self._directories = ["--project-dir", str(directory), "--profiles-dir", str(profiles)]
        self._parsed: dict[tuple, Manifest] = {}

    def invoke(
        self, *command: str, variables: dict | None = None, callbacks: Sequence[Callable[[EventMsg], None]] = ()
    ) -> dbtRunnerResult:
        """Run a dbt command and give dbt's result, failed or not; `callbacks` hear dbt's events."""
        given = [*command, *self._directories]
        if command[0] not in ("deps", "clean", "debug"):
            given += ["--target-path", str(self.target)]
        if variables:
            given += ["--vars", json.dumps(variables)]
        manifest = None
        # dbt adds an inline query to the project that it has parsed, and finds it there the next time
        if command[0] not in ("deps", "clean", "parse", "debug") and "--inline" not in command:
            # other variables than those would have dbt parse every file again
            naming = {name: value for name, value in (variables or {}).items() if name in NAMING}
            state = json.dumps(naming), self._files()
            if state not in self._parsed:
                parsed = self.invoke("parse", variables=naming)
                if not parsed.success:
                    return parsed
                self._parsed[state] = parsed.result
            manifest = self._parsed[state]
        return dbtRunner(manifest, [*callbacks]).invoke(["--quiet", "--no-use-colors", *given])

    def _files(self) -> tuple[tuple[str, bytes], ...]:
        """Return the project's files and what is in each: a parse takes as long as a small run, and few tests write one."""
        files = [*self.directory.glob("*.yml")]
        for folder in ("models", "macros", "tests", "seeds"):
            files += self.directory.joinpath(folder).rglob("*.*")
        return tuple(sorted((str(path), path.read_bytes()) for path in files if path.is_file()))

    def run(self, *command: str, variables: dict | None = None) -> dict[str, str]:
        """Run a dbt command that must succeed; returns {node name: status}. Raises DbtFailed."""
        result = self.invoke(*command, variables=variables)
        if not result.success:
            raise DbtFailed(f"dbt {' '.join(command)}\n{messages_of(result)}")
        return {node.node.name: str(node.status) for node in nodes_of(result)}

    def fails(self, *command: str, **options: Any) -> str:
        """Run a dbt command that must fail, as invoke does; returns what dbt said. Raises AssertionError when it succeeds."""
        result = self.invoke(*command, **options)
        assert not result.success, f"dbt {' '.join(command)} should have failed"
        return messages_of(result)

    def failures(self, *command: str) -> dict[str, str]:
        """Run a dbt command in which each model must fail; returns what dbt said of each, on one line."""
        found = {node.node.name: node for node in nodes_of(self.invoke(*command))}
        assert found and all(str(node.status) == "error" for node in found.values()), {n: str(f.status) for n, f in found.items()}
        return {name: " ".join(str(node.message).split()) for name, node in found.items()}

    def sql(self, statement: str):
        """Run one Spark SQL statement with the project's schema as the current one; returns a DataFrame."""
        spark = SparkSession.builder.getOrCreate()
        if spark.catalog.currentDatabase() != self.schema and spark.catalog.databaseExists(self.schema):
            spark.catalog.setCurrentDatabase(self.schema)
        return spark.sql(statement)

    def rows(self, statement: str) -> list[tuple]:
        """Return the rows of a query as tuples, in the query's order."""
        return [tuple(row) for row in self.sql(statement).collect()]

    def columns(self, table: str, without: Iterable[str] = ()) -> str:
        """Return the columns of a table or view for a select list, but for some: `* except` is not in every release's grammar."""
        return ", ".join(column for column in self.sql(f"select * from {table}").columns if column not in without)

    def batches(self, table: str) -> list[int]:
        """Return all numbers that a ledger or projection has, those that readers do not see any more too."""
        if self._is_plain(table):
            return sorted(int(row[0].split("=")[1]) for row in self.rows(f"show partitions {table}"))
        return [row[0] for row in self.rows(f"select distinct ledger_batch from {table} order by 1")]

    def visible(self, table: str) -> list[int]:
        """Return the numbers that readers see: the compacted one, which is 0 or below, and those above it."""
        numbers = self.batches(table)
        compacted = min(numbers, default=1)
        return [compacted, *(number for number in numbers if number > -compacted)] if compacted <= 0 else []

    def data(self, table: str) -> str:
        """Return a subquery of the rows of a ledger or projection that readers see, without a ledger's notes."""
        return f"(select * from {self._read(table)}{self._without_notes(table)})"

    def notes(self, table: str, kind: str) -> str:
        """Return a subquery of a ledger's notes that readers see, of one kind: its token in `block`, its fields as columns."""
        fields = f"select ledger_block as block, from_json(ledger_note, '{NOTE}') as note from {self._read(table)}"
        return f"(select block, note.* from ({fields} and ledger_note is not null) where note.kind = '{kind}')"

    def _read(self, table: str) -> str:
        """Return a table and the condition on the rows that readers see."""
        numbers = self.visible(table)
        seen = f"ledger_batch = {numbers[0]} or ledger_batch > {-numbers[0]}" if numbers else "false"
        return f"{table} where ({seen})"

    def _without_notes(self, table: str) -> str:
        return " and ledger_note is null" if "ledger_note" in self.sql(f"select * from {table}").columns else ""

    def drop_batch(self, table: str, number: int) -> None:
        """Take a batch out of a table, as no run does it."""
        drops = f"alter table {table} drop partition" if self._is_plain(table) else f"delete from {table} where"
        self.sql(f"{drops} (ledger_batch = {number})")

    def _is_plain(self, table: str) -> bool:
        """Return whether a table is one of plain parquet, whose batches are its partitions."""
        return ("Provider", "parquet") in [row[:2] for row in self.rows(f"describe table extended {table}")]

    def write(self, path: str, text: str) -> None:
        """Write a file of the project, making its folders."""
        write_files(self.directory, {path: text})


class Warnings:
    """Hears dbt's events; its text is the warnings, one per line."""

    def __init__(self) -> None:
        self._heard: list[str] = []

    def __call__(self, event: EventMsg) -> None:
        """Take an event of dbt's."""
        if event.info.level == "warn":
            self._heard.append(event.info.msg)

    def __str__(self) -> str:
        return "\n".join(self._heard)


class Statements:
    """Hears the statements that dbt executes, of every node or of one; `before` is called with each before it is executed.

    Parameters
    ----------
    node : str, optional
        The unique id of the node, such as model.shop.orders.
    before : callable, optional
        Takes a statement as `statement_of` returns it.
    """

    def __init__(self, node: str | None = None, before: Callable[[str], object] = lambda statement: None) -> None:
        self._node, self._before = node, before
        self.heard: list[str] = []

    def __call__(self, event: EventMsg) -> None:
        """Take an event of dbt's."""
        statement = statement_of(event)
        if statement and self._node in (None, event.data.conn_name):
            self.heard.append(statement)
            self._before(statement)


def statement_of(event) -> str | None:
    """Return the SQL that an event of dbt's is about to execute, on one line and without dbt's comment; None for other events."""
    return " ".join(event.data.sql.split("*/", 1)[-1].split()) if event.info.name == "SQLQuery" else None


def messages_of(result: dbtRunnerResult) -> str:
    """Return what dbt said of a failed command: its exception, and the message of each node that did not succeed."""
    said = [str(result.exception)] if result.exception else []
    said += [f"{node.node.name}: {node.status}: {node.message}" for node in nodes_of(result) if node.message]
    return "\n".join(said)


def nodes_of(result: dbtRunnerResult) -> list:
    """Return the results of models, seeds and tests of a command; deps, parse, operations and others have none."""
    found = [one for one in getattr(result.result, "results", None) or [] if hasattr(one, "node")]
    return [one for one in found if one.node.resource_type != "operation"]
