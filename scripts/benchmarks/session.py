"""The Spark session that everything is measured in: commands of dbt, queries, and what was heard of their statements."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner
from dbt_common.events.base_types import EventMsg
from pyspark.sql import SparkSession
from rich.console import Console

from clickhouse import ClickHouse
from costs import Meter


class Bench:
    """Commands of dbt and queries in one session.

    Parameters
    ----------
    local : Path
        The folder for everything that is written.
    target : str
        The profile's target, which is also the format of the tables.
    console : Console
        Where progress and tables are printed.
    """

    project = Path(__file__).parent / "project"

    def __init__(self, local: Path, target: str, console: Console) -> None:
        self.local, self.target, self.console = local, target, console
        self.schema = "demo" if target == "parquet" else f"demo_{target}"  # as in profiles.yml
        self.statements: list[tuple[str, float]] = []  # of the last command, each with its seconds
        self.models: dict[str, float] = {}  # likewise the seconds of each model
        self._parsed: Any = None
        self._clickhouse: ClickHouse | None = None
        self.dbt("deps")
        self.dbt("show", "--inline", "select 1")
        self.spark = SparkSession.builder.getOrCreate()
        log4j = self.spark._jvm.org.apache.logging.log4j
        # Hive writes a page for each Delta table that is replaced, and a line for each partition whose folder is gone. Neither is
        # an error, and the peer would pay for the writing.
        log4j.core.config.Configurator.setLevel("org.apache.hadoop.hive", log4j.Level.OFF)
        self.sql(f"create schema if not exists {self.schema}")
        self.sql(f"use {self.schema}")

    def dbt(self, *command: str, variables: dict[str, Any] | None = None) -> Any:
        """Run a dbt command; returns its result. RuntimeError with what dbt said where it fails."""
        target = [] if command[0] == "deps" else ["--target-path", str(self.local / "target"), "--target", self.target]
        quiet = ["--quiet", "--log-level", "none", "--log-level-file", "none", "--no-write-json"]
        given = [*quiet, *command, "--project-dir", str(self.project), *target]
        given += ["--vars", json.dumps(variables or {})]
        if self._parsed is None and command[0] not in ("deps", "parse"):
            self._parsed = self.dbt("parse", variables=variables)
        self.statements, self.models = [], {}
        begun: dict[str, tuple[str, float]] = {}

        def hear(event: EventMsg) -> None:
            """Note what each statement of a model took, with the fetching of its rows: up to the next one, or the model's end."""
            if event.info.name in ("SQLQuery", "LogModelResult") and event.info.thread in begun:
                statement, at = begun.pop(event.info.thread)
                self.statements.append((statement, time.perf_counter() - at))
            if event.info.name == "LogModelResult":
                self.models[event.data.node_info.node_name] = event.data.execution_time
            if event.info.name == "SQLQuery":
                sql = re.sub(r"\brun[=_][0-9a-f_-]{30,}|\d+", "", " ".join(event.data.sql.split("*/", 1)[-1].split()))
                begun[event.info.thread] = (f"{event.data.node_info.node_name}: {sql[:70]}", time.perf_counter())

        result = dbtRunner(manifest=self._parsed, callbacks=[hear]).invoke(given)
        if isinstance(result.exception, KeyboardInterrupt):  # dbt takes it for itself, and for a failure
            raise result.exception
        if not result.success:
            said = [node.message or "" for node in getattr(result.result, "results", None) or []]
            raise RuntimeError(f"dbt {' '.join(command)}: {result.exception or ' '.join(said)}")
        return result.result

    def use_partitions(self, shuffles: int, logs: int = 2) -> None:
        """Let shuffles, and Delta's reading of a log, have so many partitions, from the next command of dbt on."""
        os.environ |= {"COLLAPSING_PARTITIONS": str(shuffles), "COLLAPSING_SNAPSHOT_PARTITIONS": str(logs)}

    def run(self, *models: str, load: str = "", least: int | None = None) -> None:
        """Run models, or paths of models; a peer's model is told which load is new, and a merge its least key, if any."""
        if least is not None:
            # as dbt's documents advise; what a user's model takes from its variables would mean parsing the project for each run
            for node in self._parsed.nodes.values():
                if node.config.get("incremental_strategy") == "merge" and node.config.unique_key == "id":
                    node.config["incremental_predicates"] = [f"DBT_INTERNAL_DEST.id >= {least}"]
        self.dbt("run", "--select", *models, variables={"load": load} if load else None)

    def seconds_of_inserts(self, model: str) -> float:
        """Return what the inserts of a model took in the last command."""
        return sum(seconds for statement, seconds in self.statements if statement.startswith(f"{model}: insert"))

    def compiled(self, model: str) -> str:
        """Return the SQL of a model: of a ledger the query of the rows that its next run would append."""
        return self.dbt("compile", "--select", model).results[0].node.compiled_code

    def optimize(self, model: str) -> None:
        """Let the package optimize a ledger."""
        self.dbt("run-operation", "collapsing.optimize", "--args", json.dumps({"model": model}))

    def sql(self, statement: str) -> list:
        """Run a statement; returns its rows."""
        return self.spark.sql(statement).collect()

    def is_equal(self, one: str, other: str) -> bool:
        """Tell whether two queries have the same rows, each as often."""
        return not any(
            self.sql(f"select 1 from ({left} except all {right}) limit 1") for left, right in ((one, other), (other, one))
        )

    @property
    def clickhouse(self) -> ClickHouse:
        """The server of ClickHouse in this process, started when it is first asked for."""
        if self._clickhouse is None:
            self._clickhouse = ClickHouse(self.local / "clickhouse")
        return self._clickhouse

    def close(self) -> None:
        """Stop what was started, and wait for Java to end: until then the metastore is open, and the next bench is refused."""
        if self._clickhouse:
            self._clickhouse.close()
        java = self.spark.sparkContext._gateway
        self.spark.stop()
        java.shutdown()
        java.proc.stdin.close()
        java.proc.wait()

    def meter(self) -> Meter:
        """Return a meter of what Spark, and ClickHouse if it is there, use."""
        return Meter(self.spark, lambda: self._clickhouse)

    def folder_of(self, table: str) -> Path:
        """Return the folder of a table's files."""
        return self.local / "warehouse" / f"{self.schema}.db" / table

    def drop(self, begins: str = "") -> None:
        """Drop the tables and views whose names begin so, by default all, and what is left of their folders."""
        for row in self.sql(f"show views in {self.schema}"):
            if row.viewName.startswith(begins) and not row.isTemporary:
                self.sql(f"drop view {row.viewName}")
        for row in self.sql(f"show tables in {self.schema}"):
            if row.tableName.startswith(begins) and not row.isTemporary:
                self.sql(f"drop table if exists {row.tableName}")
        for folder in self.folder_of("").glob(f"{begins}*"):
            shutil.rmtree(folder)
