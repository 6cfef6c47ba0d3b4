"""A commit that comes second is refused and changes nothing: by SQL, another one comes first between two statements of dbt's."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from support.dbt_project import VIEW, DbtProject, messages_of, model, statement_of, values
from support.lives import SECOND, operate
from support.targets import PLAIN, WITH_LOG

LEDGER = {"key": "id", "version": "version", "block": "block"}
SUMS = {"group_by": [], "measures": {"n": "count(*)", "total": "sum(version)"}}
# How the statements begin that publish a commit; and which one looks on plain parquet whether its ledger is still the same.
PUBLISHES = dict.fromkeys(PLAIN, "alter table contested.{} add") | {"delta": "insert into contested.{} ", "iceberg": "call "}
LOOKS = dict.fromkeys(PLAIN, ("show partitions contested.{}", 2))
# A batch that changes nothing: it says of a folded block that it is folded.
NOTE = "select * from contested.orders where ledger_note is not null and ledger_block is not null limit 1"
# Rows of this block take their time to be read.
SLOW = "slow"
STAGE = f"if(block = '{SLOW}' and java_method('java.lang.Thread', 'sleep', 10000L) is null, id, id) as id, version, block"


class Rival:
    """Does something before a statement of dbt's: the one at this place among those that begin so."""

    def __init__(self, begins: str, does: Callable[[], None], place: int = 1) -> None:
        self._begins, self._does, self._left = begins, does, place
        self.came = False

    def __call__(self, event) -> None:
        """Take an event of dbt's, which waits for the rival to be done."""
        if self.came or not (statement_of(event) or "").startswith(self._begins):
            return
        self._left -= 1
        if not self._left:
            self.came = True
            self._does()


class Contest:
    """A ledger `orders` and its projection `sums`, of which others commit batches by SQL, as the package does."""

    def __init__(self, project: DbtProject, target: str) -> None:
        self.project, self.target, self._block = project, target, 0

    def fold_next(self, *models: str, callbacks=()):
        """Stage one more block, of one event of key 1 and one new key, and run some models; returns dbt's result."""
        self._block += 1
        token = f"b{self._block}"
        events = values([(1, self._block, token), (10 + self._block, 1, token)])
        self.project.sql(f"insert into contested.arrived values {events}")
        return self.run(*models, callbacks=callbacks)

    def run(self, *models: str, callbacks=()):
        """Run some models; returns dbt's result."""
        return self.project.invoke("run", "--select", *(models or ("orders", "sums")), callbacks=callbacks)

    def last(self) -> int:
        """Return the ledger's last number."""
        return max(map(abs, self.project.batches("contested.orders")))

    def commit(self, table: str, number: int, rows: str) -> None:
        """Commit rows of a table, a query of all of its columns, under another number; plain parquet takes `number` alone."""
        names = ", ".join(name for name in self.project.sql(f"select * from contested.{table}").columns if name != "ledger_batch")
        if self.target in WITH_LOG:
            self.project.sql(f"insert into contested.{table} select {names}, {number} from ({rows})")
            return
        described = self.project.rows(f"describe table extended contested.{table}")
        [place] = [row[1] for row in described if row[0] == "Location"]
        folder = f"{place}/rival={number}"
        self.project.sql(f"insert overwrite directory '{folder}' using parquet select {names} from ({rows})")
        self.project.sql(f"alter table contested.{table} add partition (ledger_batch = {number}) location '{folder}'")

    def compact(self, upto: int) -> None:
        """Compact the ledger's batches, and drop what the compacted one stands for, as an optimize and the next one do."""
        gone = [number for number in self.project.batches("contested.orders") if number <= upto]
        self.commit("orders", -upto, self._live(upto))
        for number in gone:
            self.project.drop_batch("contested.orders", number)

    def undo(self, batch: int) -> None:
        """Undo the ledger's batches from one on, and drop them."""
        numbers = self.project.batches("contested.orders")
        own = max(map(abs, numbers)) + 1
        self.commit("orders", -own, self._live(batch - 1))
        if self.target not in WITH_LOG:
            self.project.sql(f"alter table contested.orders add partition (ledger_batch = {own})")
        for number in numbers:
            self.project.drop_batch("contested.orders", number)

    def _live(self, upto: int) -> str:
        """Return the query of a compacted batch: the last state row of each key up to a batch, and all notes."""
        numbers = [number for number in self.project.visible("contested.orders") if number <= upto]
        seen = f"select * from contested.orders where ledger_batch in ({', '.join(map(str, numbers))})"
        ranked = f"select *, row_number() over (partition by id order by version desc, ledger_sign desc) as place from ({seen})"
        return f"select * from ({ranked}) where (place = 1 and ledger_sign = 1) or ledger_note is not null"

    def check(self) -> None:
        """Run both again, and compare them with the batch answer."""
        assert self.run().success
        last = "select id, max(version) as version from contested.arrived group by id"
        rows = self.project.rows(f"{last} order by id")
        assert self.project.rows("select id, version from contested.live order by id") == rows
        assert self.project.rows("select n, total from contested.totals") == [(len(rows), sum(row[1] for row in rows))]


@pytest.fixture(scope="module")
def contest(make_project, target: str) -> Contest:
    """Two batches folded, and read by the projection."""
    files = {
        "models/stage.sql": VIEW + f"select {STAGE} from contested.arrived",
        "models/orders.sql": model("ledger(ref('stage'))", LEDGER),
        "models/fresh.sql": model("ledger(ref('stage'))", LEDGER),
        "models/sums.sql": model("projection(ref('orders'))", SUMS),
        "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('orders')) }}",
        "models/totals.sql": VIEW + "select * from {{ collapsing.final(ref('sums')) }}",
    }
    project = make_project("contested", files)
    project.sql("create schema if not exists contested")
    project.sql("create table contested.arrived (id int, version int, block string) using parquet")
    contest = Contest(project, target)
    assert contest.fold_next("stage", "orders", "sums", "live", "totals").success
    assert contest.fold_next().success
    return contest


def _is_refused(result, rival: Rival, table: str = "orders", heard: list[str] | None = None) -> None:
    """Check that a command has met its rival, and was refused in words that docs/messages.md has, with a table and a number.

    Iceberg names the branch, which has the number, and leaves it to dbt to name the model.
    """
    assert rival.came and not result.success
    said = " ".join((messages_of(result) if heard is None else " ".join(heard)).split())
    assert re.search(SECOND, said), said
    named = table if "fast-forward" in said else rf"contested(\.db/|`?\.`?){table}"
    assert re.search(rf"\b{named}\b", said) and re.search(r"last batch was \d|ledger_batch\W{1,4}\d|\brun_\w+_\d", said), said


def test_a_run_whose_number_another_run_takes_is_refused(contest: Contest) -> None:
    own = contest.last() + 1
    rival = Rival(PUBLISHES[contest.target].format("orders"), lambda: contest.commit("orders", own, NOTE))
    _is_refused(contest.fold_next("orders", callbacks=[rival]), rival)
    assert contest.last() == own
    contest.check()


def test_a_run_that_has_looked_up_what_two_optimizes_drop_is_refused(contest: Contest) -> None:
    begins, place = LOOKS.get(contest.target, (PUBLISHES[contest.target], 1))
    rival = Rival(begins.format("orders"), lambda: contest.compact(1), place)
    _is_refused(contest.fold_next("orders", callbacks=[rival]), rival)
    contest.check()


def test_an_optimize_and_a_run_go_side_by_side(contest: Contest) -> None:
    """But on Iceberg, where the branch has not seen the batch: there it is refused."""
    last = contest.last()
    rival = Rival(PUBLISHES[contest.target].format("orders"), lambda: contest.commit("orders", last + 1, NOTE))
    heard: list[str] = []
    result = operate(contest.project, "optimize", [rival, lambda event: heard.append(event.info.msg)], model="orders")
    if contest.target == "iceberg":
        _is_refused(result, rival, heard=heard)
    else:
        assert rival.came and result.success
        assert contest.project.visible("contested.orders") == [-last, last + 1]
    contest.check()


def test_a_projection_whose_batches_are_undone_while_it_reads_them_is_refused(contest: Contest) -> None:
    assert contest.fold_next("orders").success
    before = contest.project.batches("contested.sums")
    begins, place = LOOKS.get(contest.target, ("insert into contested.sums", 1))
    rival = Rival(begins.format("orders"), lambda: contest.undo(contest.last()), place)
    _is_refused(contest.run("sums", callbacks=[rival]), rival, "(orders|sums)")
    assert contest.project.batches("contested.sums") == before
    contest.check()


@pytest.mark.full
def test_a_projection_whose_number_another_run_of_it_takes_is_refused(contest: Contest) -> None:
    """Each block adds the same to its sums, so that the other run can copy a batch."""
    assert contest.fold_next().success and contest.fold_next("orders").success
    read = contest.project.visible("contested.sums")[-1]
    rows = f"select * from contested.sums where ledger_batch = {read}"
    rival = Rival(PUBLISHES[contest.target].format("sums"), lambda: contest.commit("sums", read + 1, rows))
    _is_refused(contest.run("sums", callbacks=[rival]), rival, "(orders|sums)")
    contest.check()


def test_an_undo_whose_number_a_run_takes_is_refused(contest: Contest) -> None:
    assert contest.fold_next().success
    last, heard = contest.last(), []
    rival = Rival(PUBLISHES[contest.target].format("orders"), lambda: contest.commit("orders", last + 1, NOTE))
    hears = [rival, lambda event: heard.append(event.info.msg)]
    _is_refused(operate(contest.project, "undo", hears, model="orders", batch=last), rival, heard=heard)
    assert contest.project.visible("contested.orders")[-2:] == [last, last + 1]
    contest.check()


@pytest.mark.full
def test_a_first_load_whose_table_somebody_drops_and_creates_is_refused_and_the_next_run_fills_that(contest: Contest) -> None:
    project, target = contest.project, contest.target

    def create_again() -> None:
        fields = project.sql("select * from contested.fresh limit 0").schema.fields
        columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in fields)
        project.sql(f"drop table contested.fresh{' purge' if target == 'iceberg' else ''}")
        properties = "'collapsing.identity' = 'rival', 'collapsing.first' = '5'"
        using = f"using {target if target in WITH_LOG else 'parquet'} partitioned by (ledger_batch)"
        project.sql(f"create table contested.fresh ({columns}) {using} tblproperties ({properties})")

    rival = Rival("describe table extended contested.fresh", create_again, place=2)  # the first is after its own CREATE
    _is_refused(contest.run("fresh", callbacks=[rival]), rival, "fresh")
    assert project.batches("contested.fresh") == []
    assert contest.run("fresh").success
    assert project.visible("contested.fresh") == [-5, 6]


@pytest.mark.only("delta")
def test_of_two_inserts_that_are_at_work_delta_refuses_the_one_that_comes_second(contest: Contest) -> None:
    """The other one commits once the job of dbt's insert runs, which has asked for the numbers by then."""
    project, own = contest.project, contest.last() + 1
    at_work, spark = threading.Event(), SparkSession.builder.getOrCreate()

    def commit() -> None:
        assert at_work.wait(120), "dbt should have come to the insert"
        jobs, until = spark.sparkContext.statusTracker(), time.monotonic() + 120
        while not jobs.getActiveJobsIds():
            assert time.monotonic() < until, "the insert should have started a job"
            time.sleep(0.05)
        contest.commit("orders", own, NOTE)

    project.sql(f"insert into contested.arrived values (2, 1, '{SLOW}')")
    other = threading.Thread(target=commit)
    other.start()
    result = contest.run("orders", callbacks=[rival := Rival("insert into contested.orders ", at_work.set)])
    other.join()
    _is_refused(result, rival)
    assert contest.last() == own
    contest.check()
