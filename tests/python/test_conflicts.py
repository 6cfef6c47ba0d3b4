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


@pytest.fixture
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
            "models/contested.sql": model("ledger(ref('stage'))", LEDGER | {"count_decisions": False}),
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
