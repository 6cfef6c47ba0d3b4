"""Which blocks a run takes, and which files it opens for them."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from pathlib import Path

import pytest

from support.dbt_project import VIEW, DbtProject, model, statement_of

pytestmark = pytest.mark.only("parquet")  # damages files, and stops at statements of parquet

LEDGER = {"key": "id", "version": "version", "block": "block"}
TYPES = "text string, day date, moment timestamp, price decimal(38, 18), raw binary, ratio double, flag boolean, small tinyint"


FILES = {
    "models/stg_typed.sql": VIEW + "select * from intake.typed",
    "models/keyed.sql": model(
        "ledger(ref('stg_typed'))",
        {"key": [column.split()[0] for column in re.split(r", (?=[a-z])", TYPES)], "version": "version", "block": "token"},
    ),
    "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('keyed')) }}",
    "models/stg_files.sql": "select id, version, _metadata.file_name as block from intake.landed",
    "models/of_files.sql": model("ledger(ref('stg_files'))", LEDGER),
    "models/stg_many.sql": VIEW + "select * from intake.many",
    "models/of_many.sql": model("ledger(ref('stg_many'))", LEDGER),
    "models/stage.sql": VIEW + "select * from intake.arrived",
    "models/kept.sql": model("ledger(ref('stage'))", LEDGER),
    "models/sums.sql": model("projection(ref('kept'))", {"group_by": [], "measures": {"n": "count(*)"}}),
    "models/stg_rolling.sql": VIEW + "select id, version from intake.rolling",
    "models/rolling_kept.sql": model("ledger(ref('stg_rolling'))", {"key": "id", "version": "version"}),
    "models/stg_growing.sql": VIEW + "select id, version, {{ var('token', 'load') }} as block from intake.growing",
    "models/grown.sql": model("ledger(ref('stg_growing'))", LEDGER),
}


class Arrival:
    """A callback of dbt's own events: changes a stage by SQL before the first statement that begins in some way."""

    def __init__(self, project: DbtProject, begins: str, change: str) -> None:
        self._project, self._begins, self._change = project, begins, change
        self.has_come = False

    def __call__(self, event) -> None:
        if not self.has_come and (statement_of(event) or "").startswith(self._begins):
            self.has_come = True
            self._project.sql(self._change)


@pytest.fixture(scope="module")
def intake(make_project) -> DbtProject:
    """A project of all that this file folds; nothing has arrived."""
    project = make_project("intake", FILES)
    project.sql("create schema if not exists intake")
    return project


@pytest.mark.full
def test_every_type_can_be_a_key_and_any_text_a_token(intake, spark) -> None:
    """Values that could end a literal, look like another value, or sort unlike their text."""
    texts = ["", " ", "a", "A", "it's", 'say "x"', "back\\slash", "line\nbreak", "%s {{ x }}", "é", "e\u0301", "\U0001f600"]
    rows = [
        (
            text,
            dt.date(2013, 1, 1) + dt.timedelta(days=400 * number),
            dt.datetime(2013, 11, 3, 1, 30, tzinfo=dt.timezone.utc) + dt.timedelta(hours=number, microseconds=number),
            Decimal(number - 6).scaleb(-18),
            bytes([number, 0, 255]),
            float(number) - 0.5,
            number % 2 == 0,
            number - 6,
        )
        for number, text in enumerate(texts)
    ]
    project = intake
    for version, models in ((1, "stg_typed+"), (2, "keyed")):
        frame = spark.createDataFrame(rows, TYPES).selectExpr("*", f"{version} as version", f"concat(text, '{version}') as token")
        frame.write.mode("append").saveAsTable("intake.typed")
        project.run("run", "--select", models)
    tokens = f"select count(*), count(distinct block) from {project.notes('keyed', 'block')}"
    assert project.rows(tokens) == [(2 * len(rows),) * 2], "each token is folded once"
    assert project.rows("select version, count(*) from live group by version") == [(2, len(rows))]
    appended = f"select ledger_batch, ledger_sign, count(*) from {project.data('keyed')} group by 1, 2 order by 1, 2"
    assert project.rows(appended) == [
        (1, 1, len(rows)),
        (2, -1, len(rows)),
        (2, 1, len(rows)),
    ]


def test_only_unread_files_are_read(intake, spark, tmp_path: Path) -> None:
    """Files that have been folded are damaged: opening one of them would fail."""
    folder = tmp_path / "landing"
    project = intake
    project.sql(f"create table intake.landed (id bigint, version int) using parquet location '{folder}'")
    for number, models in ((1, "stg_files+"), (2, "of_files")):
        landed = set(folder.glob("*.parquet"))
        spark.sql(f"select {number}L as id, 1 as version").coalesce(1).write.mode("append").parquet(str(folder))
        spark.sql("refresh table intake.landed")
        project.run("run", "--select", models)
        for file in landed:
            assert file.read_bytes() == b"damaged"
        for file in folder.glob("*.parquet"):
            file.write_bytes(b"damaged")
    assert project.rows(f"select id, ledger_batch from {project.data('of_files')} order by id") == [(1, 1), (2, 2)]


def test_of_many_folded_blocks_each_is_known(intake, full: bool) -> None:
    """Tokens with marks that could end a literal or a list; with --full 10,000 of them, and some are unread again."""
    project, many = intake, 10_000 if full else 100
    project.sql("create table intake.many (id bigint, version int, block string) using parquet")
    marks = r"""array(',', ';', '\'', '\\', '%', ' ', '+', '"', '\n', 'é', '')"""
    block = f"concat('b', id, element_at({marks}, 1 + cast(id % 11 as int)), id)"
    project.sql(f"insert into intake.many select id, 1, {block} from range({many})")
    project.run("run", "--select", "stg_many+")
    project.sql(f"insert into intake.many select id, 2, concat({block}, ',') from range(20)")
    project.run("run", "--select", "of_many")
    held = "select ledger_batch, count(distinct ledger_block), count(*) from {} group by 1 order by 1"
    assert project.rows(held.format(project.data("of_many"))) == [(1, many, many), (2, 20, 40)]
    known = f"select count(*), count(distinct block) from {project.notes('of_many', 'block')}"
    assert project.rows(known) == [(many + 20,) * 2], "each token is folded once"
    if not full:
        return
    project.run("run", "--select", "of_many")
    assert project.visible("of_many") == [0, 1, 2]
    project.run("run-operation", "collapsing.undo", "--args", "{model: of_many, batch: 2}")
    project.run("run", "--select", "of_many")
    assert project.rows(held.format(project.data("of_many"))) == [(-3, many, many), (4, 20, 40)]


@pytest.fixture(scope="module")
def arriving(intake) -> DbtProject:
    """The project with a ledger and a projection over a table of blocks, of which one is folded."""
    intake.sql("create table intake.arrived (id bigint, version int, block string) using parquet")
    intake.sql("insert into intake.arrived values (1, 1, 'a'), (2, 1, 'a')")
    intake.run("run", "--select", "stage+")
    return intake


INSERT = "insert overwrite directory"  # how the statement begins that reads the stage after the profile


def test_a_block_that_lands_in_the_middle_of_a_run_is_left_whole_for_the_next_one(arriving) -> None:
    arriving.sql("insert into intake.arrived values (3, 2, 'b')")
    arrival = Arrival(arriving, INSERT, "insert into intake.arrived values (3, 3, 'c'), (4, 3, 'c')")
    assert arriving.invoke("run", "--select", "kept", callbacks=[arrival]).success and arrival.has_come
    last = "select ledger_block, count_if(ledger_sign = 1) from {} where ledger_batch = {} group by 1"
    assert arriving.rows(last.format(arriving.data("kept"), 2)) == [("b", 1)]
    arriving.run("run", "--select", "kept")
    assert arriving.rows(last.format(arriving.data("kept"), 3)) == [("c", 2)]


@pytest.mark.full
def test_without_blocks_a_bad_row_that_lands_in_the_middle_of_a_run_stops_it(intake) -> None:
    """And a row of a key that has a state cancels it, in this run or in the next."""
    intake.sql("create table intake.rolling (id bigint, version int) using parquet")
    intake.sql("insert into intake.rolling values (999, 1)")
    intake.run("run", "--select", "stg_rolling+")
    intake.sql("insert overwrite intake.rolling values (1, 1), (3, 1)")
    landing = "insert into intake.rolling values (999, 2), (null, 1), (2, 1)"
    arrival = Arrival(intake, INSERT, landing)
    assert not intake.invoke("run", "--select", "rolling_kept", callbacks=[arrival]).success and arrival.has_come
    assert intake.visible("rolling_kept") == [0, 1]
    assert "null_key (id must not be NULL): 1 row, for example" in intake.fails("run", "--select", "rolling_kept")
    intake.sql("insert overwrite intake.rolling values (1, 1), (3, 1)")
    landing = "insert into intake.rolling values (999, 2), (2, 1)"
    intake.invoke("run", "--select", "rolling_kept", callbacks=[Arrival(intake, INSERT, landing)])
    intake.run("run", "--select", "rolling_kept")
    states = f"select id, sum(ledger_sign), max(version) from {intake.data('rolling_kept')} group by id order by id"
    assert intake.rows(states) == [(1, 1, 1), (2, 1, 1), (3, 1, 1), (999, 1, 2)]


def test_a_block_that_grows_while_it_is_folded_stops_the_run_and_is_folded_whole_by_the_next(intake) -> None:
    intake.sql("create table intake.growing (id bigint, version int, load int) using parquet")
    intake.sql("insert into intake.growing values (999, 1, 1)")
    intake.run("run", "--select", "stg_growing+")
    intake.sql("insert into intake.growing values (1, 1, 2), (3, 1, 2)")
    # as many rows as were counted, one of them with a key beyond the bounds of the others
    arrival = Arrival(intake, INSERT, "insert overwrite intake.growing values (999, 1, 1), (1, 1, 2), (999, 2, 2)")
    assert not intake.invoke("run", "--select", "grown", callbacks=[arrival]).success and arrival.has_come
    intake.sql("insert overwrite intake.growing values (999, 1, 1), (1, 1, 2), (3, 1, 2)")
    arrival = Arrival(intake, INSERT, "insert into intake.growing values (999, 2, 2), (2, 1, 2)")
    assert not intake.invoke("run", "--select", "grown", callbacks=[arrival]).success and arrival.has_come
    assert intake.visible("grown") == [0, 1]
    intake.run("run", "--select", "grown")
    states = f"select id, sum(ledger_sign) from {intake.data('grown')} group by id order by id"
    assert intake.rows(states) == [(1, 1), (2, 1), (3, 1), (999, 1)]
    # its token becomes text, as where Spark takes the folders load=01 and load=02 for numbers until there is load=03b
    said = " ".join(intake.fails("run", "--select", "stg_growing+", variables={"token": "lpad(load, 2, '0')"}).split())
    assert "its rows were folded by other settings: 'block' was \"block as number\" and is" in said


def test_a_full_refresh_that_would_lose_blocks_is_refused(arriving, full: bool) -> None:
    before = arriving.rows("select * from kept order by all")
    arriving.sql("create table intake.all_of_it as select * from intake.arrived")
    arriving.sql("insert overwrite intake.arrived select * from intake.all_of_it where block <> 'a'")
    said = " ".join(arriving.fails("run", "--full-refresh", "--select", "kept").split())
    assert "model 'kept': --full-refresh would lose 1 block folded before, of which the stage" in said
    assert "for example: a. Keep the ledger by the config full_refresh: false" in said
    assert arriving.rows("select * from kept order by all") == before

    if full:
        arriving.write("models/kept.sql", "{{ config(full_refresh=false) }}\n" + model("ledger(ref('stage'))", LEDGER))
        arriving.sql("insert into intake.arrived values (9, 1, 'x')")
        arriving.run("run", "--full-refresh", "--select", "kept")
        assert arriving.visible("kept") == [0, 1, 2, 3, 4]
        arriving.write("models/kept.sql", model("ledger(ref('stage'))", LEDGER))

    # a block that was undone is not lost with its file: by default the only one with key 4
    last = arriving.visible("kept")[-1]
    [(block,)] = arriving.rows(f"select block from {arriving.notes('kept', 'block')} where batch = {last}")
    arriving.run("run-operation", "collapsing.undo", "--args", f"{{model: kept, batch: {last}}}")
    arriving.sql(f"insert overwrite intake.arrived select * from intake.all_of_it where block <> '{block}'")
    arriving.run("run", "--full-refresh", "--select", "kept", "sums")
    assert arriving.visible("kept") == arriving.visible("sums") == [-last - 2]
    assert arriving.rows(f"select sum(ledger_sign) from {arriving.data('sums')}") == [(4 if full else 3,)]
