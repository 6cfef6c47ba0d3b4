"""Two dbt processes at once, through one server: of one table the second stops, others go on, and a killed run's lock can go."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.dbt_project import VIEW, messages_of, model, statement_of, stranger_files, write_files
from support.processes import REMOTE, done, server_environment, start_dbt
from support.sessions import sessions_with

LEDGER = {"key": "id", "version": "version", "block": "block"}
# A stage whose rows take their time: the first run is still at it when the second one comes.
SLOW = "if(java_method('java.lang.Thread', 'sleep', 15000L) is null, id, id)"


class Processes:
    """A stranger's project on the server of scripts/cluster; every command is a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.name = f"two_runs_{os.getpid()}"
        self._folder = folder
        files = stranger_files(self.name) | {
            "models/stage.sql": VIEW + f"select {SLOW} as id, 1 as version, 'a' as block from range(1)",
            "models/other.sql": VIEW + "select 2 as id, 1 as version, 'a' as block",
            "models/minutes.sql": VIEW + f"select id, version, block from {self.name}.arrived",
            "models/scheduled.sql": model("ledger(ref('minutes'))", LEDGER),
            "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('scheduled')) }}",
            "models/slow.sql": model("ledger(ref('stage'))", LEDGER),
            "models/quick.sql": model("ledger(ref('other'))", LEDGER),
        }
        write_files(folder, files)
        done(self.start("deps"))

    def start(self, *command: str) -> subprocess.Popen:
        """Start a dbt command in a process group of its own."""
        return start_dbt(self._folder, server_environment("connect"), *command)

    def wait_for_lock(self, spark: SparkSession, process: subprocess.Popen) -> None:
        """Wait until the ledger `slow` is locked; fails when the process ends before."""
        while not spark.catalog.tableExists(f"{self.name}.slow__lock"):
            assert process.poll() is None, process.stdout.read()
            time.sleep(0.2)


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(tmp_path)


URL = "spark.hadoop.javax.jdo.option.ConnectionURL"
DERBY = {URL: "jdbc:derby:;databaseName=/srv/metastore;create=true"}
HIDDEN = {URL: "*********(redacted)"}  # as `set` shows it
METASTORES = [
    ({}, True),
    (DERBY, True),
    (HIDDEN, True),
    (HIDDEN | {"spark.hadoop.javax.jdo.option.ConnectionDriverName": "org.postgresql.Driver"}, False),
    ({URL: "jdbc:postgresql://db/metastore"}, False),
    ({URL: "jdbc:derby://127.0.0.1:1527/metastore_db"}, False),
    (HIDDEN | {"spark.hadoop.javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.ClientDriver"}, False),
    ({"spark.hadoop.hive.metastore.uris": "thrift://metastore:9083"}, False),
    ({"spark.hadoop.hive.metastore.client.factory.class": "com.amazonaws.glue.catalog"}, False),
    ({"spark.hive.metastore.client.factory.class": "com.amazonaws.glue.catalog"}, False),
    ({"hive.metastore.uris": "thrift://metastore:9083"}, False),
    ({URL.removeprefix("spark.hadoop."): "jdbc:postgresql://db/metastore"}, False),
    ({"javax.jdo.option.ConnectionDriverName": "org.postgresql.Driver"}, False),
    (DERBY | {"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}, True),
    (DERBY | {"spark.sql.catalog.spark_catalog": "io.unitycatalog.spark.UCSingleCatalog"}, False),
    (DERBY | {"spark.sql.catalog.spark_catalog.type": "rest"}, False),
    (DERBY | {"spark.sql.catalog.spark_catalog.catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog"}, False),
    (DERBY | {"spark.sql.defaultCatalog": "lake"}, False),
]


@pytest.mark.only("parquet")
def test_a_session_needs_no_lock_upon_derby_alone(make_project, monkeypatch: pytest.MonkeyPatch, full: bool) -> None:
    """Where a folder of settings may name another metastore, what the session says alone counts: by default one such folder."""
    asked = " ~ ' ' ~ ".join(f"collapsing._has_derby({settings})" for settings, _ in METASTORES)
    project = make_project("alone", {"models/told.sql": f"{VIEW}select '{{{{ {asked} }}}}' as told"})
    for set_ in ("", "HIVE_CONF_DIR", *(("SPARK_CONF_DIR", "YARN_CONF_DIR") if full else ())):
        for name in (
            "SPARK_HOME",
            "HADOOP_CONF_DIR",
            "YARN_CONF_DIR",
            "SPARK_CONF_DIR",
            "SPARK_DIST_CLASSPATH",
            "HIVE_HOME",
            "HIVE_CONF_DIR",
        ):
            monkeypatch.delenv(name, raising=False)
        if set_:
            monkeypatch.setenv(set_, "/etc/spark/conf")
        alone = [alone and (not set_ or URL in settings) for settings, alone in METASTORES]
        project.run("run")
        assert project.rows("select told from told") == [(" ".join(map(str, alone)),)]


@pytest.mark.only("parquet", "delta", "iceberg")
def test_a_stale_lock_is_taken_over_once(make_project, spark) -> None:
    """Another run takes it over after this one has found it stale; and then nobody does."""
    files = {
        "models/stage.sql": VIEW + "select 1 as id, 1 as version, 'b1' as block",
        "models/raced.sql": model("ledger(ref('stage'))", {"key": "id", "version": "version", "block": "block"}),
    }
    project = make_project("raced", files)
    driver = "spark.hadoop.javax.jdo.option.ConnectionDriverName"

    def lock_as(run: str, since: str) -> None:
        project.sql("drop table if exists raced.raced__lock")
        properties = f"'collapsing.run' = '{run}', 'collapsing.since' = '{since}'"
        project.sql(f"create table raced.raced__lock (nothing int) using parquet tblproperties ({properties})")

    def race(event) -> None:
        statement = statement_of(event) or ""
        if found and not said and statement.startswith(("create", "drop")):
            said.append(statement)
            lock_as("another", f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S}")
        found.extend([statement] if statement.startswith("show tblproperties") else [])

    found, said = [], []
    with sessions_with({driver: "org.postgresql.Driver"}):
        project.sql("create schema if not exists raced")
        lock_as("dead", "2001-01-01 00:00:00")
        result = project.invoke("run", callbacks=[race])
        assert said and "raced.raced is being written by the dbt run another since" in messages_of(result)
        lock_as("dead", "2001-01-01 00:00:00")
        project.run("run")
        assert project.batches("raced.raced") == [1]
        tables = [row[1] for row in project.rows("show tables in raced")]
        assert not [name for name in tables if name.endswith(("__lock", "__takeover"))]
        project.sql("create table raced.raced__lock using parquet as select 1 as precious")
        said = project.fails("run")
        assert "the table raced.raced__lock, which a run would drop, is not one that this package has created" in said
        project.sql("drop table raced.raced__lock")
    spark.conf.unset(driver)  # or later tests would lock


@pytest.mark.only("connect")
def test_a_second_run_stops_and_names_the_first(processes: Processes) -> None:
    spark = SparkSession.builder.remote(REMOTE).create()
    first = processes.start("run", "--select", "+slow")
    processes.wait_for_lock(spark, first)
    second = processes.start("run", "--select", "slow")
    beside = processes.start("run", "--select", "+quick")
    said = second.communicate()[0]
    assert second.returncode == 1
    assert first.poll() is None, "the first run should still be at work"
    run = spark.sql(f"show tblproperties {processes.name}.slow__lock").where("key = 'collapsing.run'").first()[1]
    assert re.search(rf"is being written by the dbt run {run} since 20\d\d-\d\d-\d\d .*collapsing.unlock", said, re.S), said
    assert beside.wait() == 0 and first.wait() == 0, beside.stdout.read() + first.stdout.read()
    assert spark.sql(f"select id, ledger_batch from {processes.name}.slow").collect() == [(0, 1)]
    assert not spark.catalog.tableExists(f"{processes.name}.slow__lock")
    spark.sql(f"drop schema {processes.name} cascade")


@pytest.mark.only("connect")
def test_two_schedulers_of_one_ledger_need_no_hand(processes: Processes) -> None:
    """Both start at the same minute, again and again. One that finds the other at work stops, and its next run goes on."""
    spark = SparkSession.builder.remote(REMOTE).create()
    spark.sql(f"create schema {processes.name}")
    spark.sql(f"create table {processes.name}.arrived (id int, version int, block string) using parquet partitioned by (block)")
    assert processes.start("run", "--select", "minutes").wait() == 0
    for minute in range(4):
        spark.sql(f"insert into {processes.name}.arrived values ({minute}, 1, 'b{minute}'), (0, {minute + 2}, 'b{minute}')")
        both = [processes.start("run", "--select", "scheduled") for _ in range(2)]
        said = [one.communicate()[0] for one in both]
        assert all(one.returncode == 0 or "being written by" in text for one, text in zip(both, said, strict=True)), said
    assert processes.start("run", "--select", "scheduled", "live").wait() == 0
    rows = spark.sql(f"select id, version from {processes.name}.live order by id").collect()
    assert rows == [(0, 5), (1, 1), (2, 1), (3, 1)]
    folded = spark.sql(f"select ledger_block, count(distinct ledger_batch) from {processes.name}.scheduled group by 1").collect()
    assert sorted(folded) == [(f"b{minute}", 1) for minute in range(4)]
    assert not spark.catalog.tableExists(f"{processes.name}.scheduled__lock")
    spark.sql(f"drop schema {processes.name} cascade")


@pytest.mark.only("connect")
def test_the_lock_of_a_killed_run_is_given_up_when_asked_or_when_it_is_old(processes: Processes) -> None:
    spark = SparkSession.builder.remote(REMOTE).create()
    for way in (("run-operation", "collapsing.unlock", "--args", "{model: slow}"), None):
        killed = processes.start("run", "--select", "+slow")
        processes.wait_for_lock(spark, killed)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
        second = processes.start("run", "--select", "slow")
        assert "is being written by the dbt run" in second.communicate()[0] and second.returncode == 1
        if way:
            assert processes.start(*way).wait() == 0
        again = processes.start(
            "run", "--select", "slow", "--vars", "{collapsing_lock_timeout_hours: 0.0001}" if not way else "{}"
        )
        assert again.communicate()[0] and again.returncode == 0
        assert spark.sql(f"select id, ledger_batch from {processes.name}.slow").collect() == [(0, 1)]
        spark.sql(f"drop table {processes.name}.slow")
        spark.sql(f"drop table if exists {processes.name}.slow__manifest")
    spark.sql(f"drop schema {processes.name} cascade")
