"""Two writers of one batch where nothing holds them apart: the format's own conflict detection lets one of them in."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from support.dbt_project import VIEW, model, statement_of
from support.sessions import sessions_with

LEDGER = {"key": "id", "version": "version", "block": "block"}
# Another process could open a metastore of this driver.
SHARED = {"spark.hadoop.javax.jdo.option.ConnectionDriverName": "org.postgresql.Driver"}
# Rows of the block `slow` take their time to be read: the run is still at it when the other writer commits.
SLOW = "if(block = 'slow' and java_method('java.lang.Thread', 'sleep', 10000L) is null, id, id) as id"


class Rival:
    """Another writer: commits a batch of one row as soon as dbt's own insert of that batch is at work."""

    def __init__(self, ledger: str, batch: int) -> None:
        self._insert = (
            f"insert into {ledger} select id, version + 1, ledger_sign, 'rival', {batch} from {ledger} where ledger_batch = 1"
        )
        self._begins, self._at_work = f"insert into {ledger} ", threading.Event()
        self._spark = SparkSession.builder.getOrCreate()
        self.thread = threading.Thread(target=self._commit)
        self.thread.start()

    def __call__(self, event) -> None:
        """Take an event of dbt's: sees the insert begin."""
        if (statement_of(event) or "").startswith(self._begins):
            self._at_work.set()

    def _commit(self) -> None:
        assert self._at_work.wait(120), "dbt should have come to the insert"
        jobs = self._spark.sparkContext.statusTracker()
        until = time.monotonic() + 120
        while not jobs.getActiveJobsIds():
            assert time.monotonic() < until, "the insert should have started a job"
            time.sleep(0.05)
        self._spark.sql(self._insert)


@pytest.fixture(scope="module")
def shared() -> Iterator[None]:
    """Sessions that the package cannot take for those of the only writer."""
    with sessions_with(SHARED):
        yield
    for name in SHARED:
        SparkSession.builder.getOrCreate().conf.unset(name)


@pytest.mark.only("delta")
def test_of_two_writers_of_one_batch_delta_refuses_the_one_that_comes_second(make_project, shared) -> None:
    project = make_project(
        "raced",
        {
            "models/stage.sql": VIEW + f"select {SLOW}, version, block from raced.arrived",
            "models/contested.sql": model("ledger(ref('stage'))", LEDGER),
        },
    )
    project.sql("create schema if not exists raced")
    project.sql("create table raced.arrived using parquet as select 1 as id, 1 as version, 'quick' as block")
    project.run("run")
    project.sql("insert into raced.arrived values (1, 3, 'slow')")
    rival = Rival("raced.contested", batch=2)
    result = project.invoke("run", "--select", "contested", callbacks=[rival])
    rival.thread.join()
    assert not result.success
    assert "DELTA_CONCURRENT_APPEND" in result.result.results[0].message
    assert project.rows("select version, ledger_block, ledger_batch from raced.contested order by 3") == [
        (1, "quick", 1),
        (2, "rival", 2),
    ]


@pytest.mark.only("delta", "iceberg")
def test_of_two_writers_of_a_projection_one_counts_though_they_have_read_different_batches(
    make_project, shared, target: str
) -> None:
    """The other one had read one batch more. On Iceberg the second replaces the first, and what it had read is read again."""
    staged = "select id, 1 as version, concat('b', id) as block from range(1, 4) where id <= {{ var('upto', 1) }}"
    sums = {"group_by": [], "measures": {"n": "count(*)"}}
    files = {
        "models/stage.sql": VIEW + staged,
        "models/counted.sql": model("ledger(ref('stage'))", LEDGER),
        "models/counts.sql": model("projection(ref('counted'))", sums),
    }
    project = make_project("rivals", files)
    project.run("run")
    spark, said = SparkSession.builder.getOrCreate(), []

    def rival(event) -> None:
        if (statement_of(event) or "").startswith("insert into rivals.counts ") and not said:
            said.append(event)
            columns = ", ".join(name for name in spark.table("rivals.counts").columns if name != "ledger_batch")
            spark.sql(f"insert into rivals.counts select {columns}, 3 from rivals.counts where ledger_batch = 1")

    project.run("run", "--select", "stage", "counted", variables={"upto": 2})
    result = project.invoke("run", "--select", "counts", variables={"upto": 2}, callbacks=[rival])
    assert said and result.success == (target == "iceberg")
    if target == "delta":
        assert "another run has written batch 2 of counts" in result.result.results[0].message
    assert project.batches("rivals.counts") == ([1, 2] if target == "iceberg" else [1, 3])
