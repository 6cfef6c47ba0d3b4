"""A stand-in for Databricks' SQL connector: records what dbt-databricks sends, and runs it on a local Spark with Delta."""

from __future__ import annotations

import re

import databricks.sql
from pyspark.sql import SparkSession

# What a SQL warehouse refuses, by the documents that docs/platforms.md names; how a statement begins, or has in it.
REFUSED = {
    "a setting of Spark's": r"^set (?!query_tags|time zone)(?!\w+$)",
    "a list of settings": r"^set$",
    "cached tables": r"^(un)?cache (lazy )?table\b",
    "partitions of a Delta table": r"^(show partitions|alter table .* (add|drop|recover) (if (not )?exists )?partition|msck)\b",
    "tables of other formats in Unity Catalog": r"^create (or replace )?table .* using (?!delta|iceberg)\w+",
    "overwrite by a session setting": r"^insert overwrite ",
    "Hive's properties": r"\b(stored as|row format|serde)\b",
    "the directory of a format": r"\bfrom (parquet|json|csv)\.`",
    "calls of Java": r"\b(java_method|reflect)\s*\(",
}


class Recorder:
    """What was sent, statement by statement, on whatever connection.

    Parameters
    ----------
    spark : SparkSession
        Runs the statements; its parser is asked about each before.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.sent: list[str] = []
        self.refused: list[tuple[str, str]] = []
        self._connect = databricks.sql.connect
        databricks.sql.connect = lambda **_: Connection(self)

    def end(self) -> None:
        """Return the connector back."""
        databricks.sql.connect = self._connect

    def run(self, sql: str):
        """Record a statement, have it parsed and run; returns a DataFrame."""
        said = " ".join(re.sub(r"^/\*.*?\*/", "", sql.strip(), flags=re.DOTALL).split())
        self.sent.append(said)
        self.refused += [(why, said) for why, pattern in REFUSED.items() if re.search(pattern, said, re.IGNORECASE)]
        self.spark._jsparkSession.sessionState().sqlParser().parsePlan(sql)
        if "`system`.`information_schema`" in said or "`information_schema`" in said:
            return self._of_unity_catalog(said)
        return self.spark.sql(sql)

    def _of_unity_catalog(self, said: str):
        """Answer what only Unity Catalog knows: which tables there are. Of tags, masks and constraints it has none."""
        if "`tables`" not in said:
            return self.spark.createDataFrame([], "nothing string")
        schema = re.search(r"table_schema = '(\w+)'", said).group(1)
        wanted = re.search(r"table_name = '(\w+)'", said)
        listed = {
            kind: [name for _, name, is_temporary, *_ in self.spark.sql(f"show {kind} in {schema}").collect() if not is_temporary]
            for kind in ("tables", "views")
        }
        rows = [
            (name, *(("view", None) if name in listed["views"] else ("table", "delta")), "me", "managed")
            for name in listed["tables"]
            if not wanted or name == wanted.group(1)
        ]
        names = "table_name string, table_type string, file_format string, table_owner string, databricks_table_type string"
        return self.spark.createDataFrame(rows, names)


class Connection:
    """A connection to a SQL warehouse."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def cursor(self) -> Cursor:
        """Return a cursor."""
        return Cursor(self, self._recorder)

    def get_session_id_hex(self) -> str:
        """Return the session's name."""
        return "0" * 32

    def close(self) -> None:
        """End nothing."""


class Cursor:
    """A cursor with the rows of one statement."""

    query_id = "none"
    active_result_set = None

    def __init__(self, connection: Connection, recorder: Recorder) -> None:
        self.connection = connection
        self._recorder = recorder
        self._rows: list[tuple] = []
        self.description: list[tuple] | None = None

    def execute(self, sql: str, parameters: list | None = None) -> Cursor:
        """Run a statement."""
        assert not parameters, parameters
        return self._take(self._recorder.run(sql))

    def tables(self, catalog: str, schema: str) -> Cursor:
        """List tables, as the connector does without SQL."""
        return self._take(self._recorder.spark.sql(f"show tables in {catalog}.{schema}"))

    def schemas(self, catalog: str, schema: str | None = None) -> Cursor:
        """List schemas, as the connector does without SQL."""
        like = f" like '{schema}'" if schema else ""
        return self._take(self._recorder.spark.sql(f"show schemas in {catalog}{like}"))

    def _take(self, rows) -> Cursor:
        self.description = [(field.name, field.dataType.simpleString(), *[None] * 5) for field in rows.schema]
        self._rows = [*rows.collect()]
        return self

    def fetchall(self) -> list[tuple]:
        """Return the rows that are left."""
        taken, self._rows = self._rows, []
        return taken

    def fetchone(self) -> tuple | None:
        """Return the next row."""
        return self._rows.pop(0) if self._rows else None

    def fetchmany(self, size: int) -> list[tuple]:
        """Return the next rows."""
        taken, self._rows = self._rows[:size], self._rows[size:]
        return taken

    def cancel(self) -> None:
        """Cancel nothing."""

    def close(self) -> None:
        """End nothing."""
