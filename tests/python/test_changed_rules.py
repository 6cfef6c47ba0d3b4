"""Rows that are kept under one set of rules, and rules that change, are put back or differ in a letter's case."""

from __future__ import annotations

import json

import pytest

from support.dbt_project import VIEW, DbtProject, given, model
from support.failpoint import Failpoint
from support.lives import operate
from support.targets import PLAIN, WITH_LOG

VERSIONED = {"key": "id", "version": "version", "is_deleted": "is_deleted", "block": "block"}
REPLACING = VERSIONED | {"engine": "replacing"}
FEED = {"engine": "collapsing", "key": "id", "input": "signed", "sign": "sign", "order_by": "position", "block": "block"}
STAGE = (
    "select block, id, version, is_deleted, sign, position, part, other, try_cast(part as double) as half "
    "from kept.arrived where ledger = '{}'"
)
LEDGERS = {
    "parted": REPLACING | {"partition_by": "part"},
    "forgetting": REPLACING | {"version": "half", "tombstone_retention": 10},
    "combining": REPLACING | {"combine": {"other": "old.other + new.other"}},
    "feed": FEED,
    "counted": VERSIONED,
    "restored": FEED,
}
# Ledgers that only --full has.
LATER = ("restored",)


def _sums(measures: dict[str, str]) -> str:
    return model("projection(ref('counted'))", {"group_by": [], "measures": measures})


COUNT = {"group_by": [], "measures": {"n": "count(*)"}}
COUNTED = model("ledger(ref('stage_counted'))", VERSIONED)
# Models that single tests run.
LAST = {
    "parted_sums": model("projection(ref('parted'))", COUNT),
    "taken": COUNTED,
    "taken_sums": model("projection(ref('counted'))", COUNT),
    "copied": COUNTED,
    "of_orc": f"{{{{ config(file_format='orc') }}}}\n{COUNTED}",
    "of_delta": f"{{{{ config(file_format='delta', tblproperties={{'delta.appendOnly': true}}) }}}}\n{COUNTED}",
}


@pytest.fixture(scope="module")
def project(make_project, full: bool) -> DbtProject:
    """A stage for each ledger, all of one table, and views of what is live; nothing has arrived yet."""
    ledgers = {name: settings for name, settings in LEDGERS.items() if full or name not in LATER}
    files = {"models/sums.sql": _sums({"many": "count_if(other * 1 > 1)"})}
    files |= {f"models/{name}.sql": sql for name, sql in LAST.items()}
    for name, settings in ledgers.items():
        # signs as text, as a file of JSON lines may have them
        files[f"models/stage_{name}.sql"] = VIEW + STAGE.format(name)
        files[f"models/{name}.sql"] = model(f"ledger(ref('stage_{name}'))", settings)
    for name in [*ledgers, "sums"]:
        files[f"models/live_{name}.sql"] = f"{VIEW}select * from {{{{ collapsing.final(ref('{name}')) }}}}"
    project = make_project("kept", files)
    project.sql("create schema if not exists kept")
    project.sql(
        "create table kept.arrived (ledger string, block string, id int, version int, is_deleted boolean, sign string, "
        "position int, part string, other int) using parquet"
    )
    # other views are built where they are read
    project.run("run", "--exclude", *LAST, *(f"live_{name}" for name in (*ledgers, "sums") if name != "parted"))
    return project


def _stage(project: DbtProject, ledger: str, block: str, *rows: str) -> None:
    """Stage rows of (id, version, is_deleted, sign, position, part, other)."""
    project.sql(f"insert into kept.arrived values {', '.join(f'({ledger!r}, {block!r}, {row})' for row in rows)}")


def _without_block(project: DbtProject, block: str) -> None:
    """Take a block out of the stage of `restored`."""
    project.write("models/stage_restored.sql", f"{VIEW}{STAGE.format('restored')} and block <> '{block}'")
    project.run("run", "--select", "stage_restored")


@pytest.mark.full
def test_partitions_that_a_base_was_written_by_are_not_taken_away(project) -> None:
    _stage(project, "parted", "a", "1, 5, false, null, 0, 'x', 0", "1, 6, false, null, 0, 'y', 0")
    project.run("run", "--select", "parted")
    assert operate(project, "optimize", model="parted").success
    project.write("models/parted.sql", model("ledger(ref('stage_parted'))", REPLACING))
    assert """'partition_by' was ["part"] and is []""" in project.fails("run", "--select", "parted")
    project.write("models/parted.sql", model("ledger(ref('stage_parted'))", REPLACING) + " -- one row of each key")
    project.run("run", "--full-refresh", "--select", "parted", "live_parted")
    assert project.rows("select version from live_parted") == [(6,)]
    project.write("models/parted.sql", model("ledger(ref('stage_parted'))", LEDGERS["parted"]))
    project.run("run", "--full-refresh", "--select", "parted", "live_parted")


def test_of_rows_that_differ_in_the_delete_alone_the_delete_wins(project) -> None:
    kept, deleted = "9, false, null, 0, 'x', 0", "9, true, null, 0, 'x', 0"
    _stage(project, "parted", "b", f"2, {kept}", f"2, {deleted}", f"3, {deleted}", f"3, {kept}")
    project.run("run", "--select", "parted")
    assert project.rows("select id from live_parted where id > 1") == []


def test_nothing_follows_settings_by_which_the_rows_were_not_folded(project, capsys) -> None:
    _stage(project, "parted", "d", "4, 5, false, null, 0, 'x', 0", "4, 6, false, null, 0, 'y', 0")
    project.run("run", "--select", "parted")
    project.write("models/parted.sql", model("ledger(ref('stage_parted'))", REPLACING))
    changed = """its rows were folded by other settings: 'partition_by' was ["part"] and is []"""
    assert not operate(project, "optimize", model="parted").success
    assert changed in capsys.readouterr().out
    assert project.rows("select count(*) from parted where id = 4") == [(2,)]
    assert f"model 'parted': {changed}" in project.fails("run", "--select", "live_parted")
    project.run("compile", "--select", "live_parted")
    _stage(project, "counted", "0", "1, 0, false, null, 0, 'x', 0")
    project.run("run", "--select", "counted")
    project.write("models/counted.sql", model("ledger(ref('stage_counted'))", VERSIONED | {"key": "version", "version": "id"}))
    assert not operate(project, "undo", model="counted", batch=1).success
    assert """'key' was ["id"] and is ["version"]""" in capsys.readouterr().out
    project.write("models/counted.sql", COUNTED)
    project.write("models/parted.sql", model("ledger(ref('stage_parted'))", LEDGERS["parted"]))
    assert operate(project, "optimize", model="parted").success
    assert project.rows("select count(*) from parted where id = 4") == [(2,)]


def test_a_ledger_is_not_dropped_for_a_projection_that_takes_its_name(project) -> None:
    before = project.batches("kept.parted")
    project.write("models/parted.sql", _sums({"many": "count(*)"}))
    said = " ".join(project.fails("run", "--select", "parted", "--full-refresh").split())
    assert "model 'parted': the table" in said and "is that of a ledger, whose rows only its stage could give again" in said
    assert before and project.batches("kept.parted") == before
    project.write("models/parted.sql", model("ledger(ref('stage_parted'))", LEDGERS["parted"]))


def test_a_tombstone_that_keeps_older_rows_of_later_batches_out_is_not_forgotten(project) -> None:
    """It is 10 versions older than the greatest one that is a number."""
    rows = ["1, 0, false, null, 0, '5', 0", "3, 0, true, null, 0, '95', 0", "4, 0, false, null, 0, 'NaN', 0"]
    later = ["1, 0, true, null, 0, '6', 0", "2, 0, false, null, 0, '100', 0"]
    for block, staged in (("a", rows), ("b", later)):
        _stage(project, "forgetting", block, *staged)
        project.run("run", "--select", "forgetting")
    _stage(project, "forgetting", "c", "1, 0, false, null, 0, '4', 0")
    project.run("run", "--select", "forgetting", "live_forgetting")
    assert operate(project, "optimize", model="forgetting", keep_batches=1).success
    assert project.rows("select id from live_forgetting order by 1") == [(2,), (4,)]
    assert operate(project, "optimize", model="forgetting").success
    assert project.rows("select id from live_forgetting order by 1") == [(2,), (4,)]
    assert project.rows("select id, ledger_sign from forgetting order by 1") == [(2, 1), (3, 0), (4, 1)]


def test_events_are_combined_in_the_order_of_versions_whatever_block_comes_first(project) -> None:
    _stage(project, "combining", "a", "1, 2, false, null, 0, 'x', 10")
    _stage(project, "combining", "b", "1, 1, false, null, 0, 'x', 1")
    project.run("run", "--select", "combining", "live_combining")
    assert project.rows("select version, other from live_combining") == [(2, 11)]


def test_a_cancel_row_whose_sign_is_text_comes_before_its_state_row(project) -> None:
    _stage(project, "feed", "a", "1, 1, false, '-1', 1, 'old', 7", "1, 1, false, '+1', 1, 'new', 7")
    project.run("run", "--select", "feed", "live_feed")
    assert project.rows("select part from live_feed") == [("new",)]


def test_a_projection_that_died_before_its_mark_is_built_again_though_its_settings_are_as_before(project) -> None:
    _stage(project, "counted", "a", "1, 1, false, null, 0, 'x', 2", "2, 1, false, null, 0, 'y', 3")
    project.run("run", "--select", "counted", "sums", "live_sums")
    assert project.rows("select many from live_sums") == [(2,)]
    project.write("models/sums.sql", _sums({"many": "count_if(other * 1 > 2)"}))
    failpoint = Failpoint(("sums",), "alter table kept.sums set tblproperties", 2)
    assert not project.invoke("run", "--select", "sums", callbacks=[failpoint]).success and failpoint.died
    assert project.rows("select many from live_sums") == [(1,)]
    project.write("models/sums.sql", _sums({"many": "count_if(other * 1 > 1)"}))
    project.run("run", "--select", "sums")
    assert project.rows("select many from live_sums") == [(2,)]


def test_a_projection_waits_for_a_ledger_that_waits_for_a_full_refresh(project) -> None:
    project.write("models/parted.sql", model("ledger(ref('stage_parted'))", VERSIONED))
    said = project.failures("run", "--select", "parted_sums")
    assert "model 'parted': its rows were folded by other settings: 'engine' was \"replacing\"" in said["parted_sums"]
    project.write("models/parted.sql", model("ledger(ref('stage_parted'))", LEDGERS["parted"]))


@pytest.mark.full
def test_the_block_of_a_row_that_an_undo_has_restored_is_in_the_manifest(project) -> None:
    """Its batch is undone, its block is unread again, and the base has the row under that block."""
    _stage(project, "restored", "a", "1, 1, false, '+1', 1, '1', 7")
    project.run("run", "--select", "restored")
    _stage(project, "restored", "b", "1, 1, false, '-1', 2, '1', 7", "1, 1, false, '1', 3, '2', 7")
    project.run("run", "--select", "restored", "live_restored")
    assert operate(project, "undo", model="restored", batch=2).success
    _without_block(project, "b")
    assert operate(project, "optimize", model="restored").success
    assert project.rows("select part from live_restored") == [("1",)]
    properties = {"name": "restored", "data_tests": [{"collapsing.complete": given(stage="ref('stage_restored')")}]}
    project.write("models/restored.yml", json.dumps({"models": [properties]}))
    assert set(project.run("test", "--select", "restored").values()) == {"pass"}


def test_a_table_that_the_package_has_not_created_is_told_of(project, target: str) -> None:
    for name in ("taken", "taken_sums"):
        project.sql(f"create table kept.{name} using {target if target in WITH_LOG else 'parquet'} as select 1 as id")
    for refresh in ([], ["--full-refresh"]):
        for name, said in project.failures("run", *refresh, "--select", "taken", "taken_sums").items():
            assert f"the table kept.{name} is not one that this package has created, in the format of the model" in said
    for name in ("taken", "taken_sums"):
        project.sql(f"drop table kept.{name}")
    beside = "kept.taken__dropped" if target in PLAIN else "kept.taken__rejects"
    project.sql(f"create table {beside} using {target if target in WITH_LOG else 'parquet'} as select 1 as precious")
    said = " ".join(project.fails("run", "--select", "taken").split())
    assert f"the table {beside}, which a run would drop, is not one that this package has created" in said
    project.sql(f"drop table {beside}")


@pytest.mark.only("parquet")  # an append to a table of the others cannot replace it
def test_no_operation_writes_to_a_copy_that_an_append_would_replace(project, capsys) -> None:
    """A copy by `create table as` has not the option without which Spark overwrites the whole table."""
    project.sql("create table kept.copied using parquet partitioned by (ledger_batch) as select * from kept.counted")
    before = project.rows("select * from kept.copied order by all")
    for operation, options in (("undo", {"batch": 1}), ("optimize", {})):
        assert not operate(project, operation, model="copied", **options).success
        assert "the table kept.copied is not one that this package has created" in " ".join(capsys.readouterr().out.split())
    assert before and project.rows("select * from kept.copied order by all") == before
    project.sql("drop table kept.copied")


def test_a_format_that_the_package_does_not_write_is_refused(project) -> None:
    said = project.failures("run", "--select", "of_orc", "of_delta")
    for name, wrong in (
        ("of_orc", "the config file_format must be one of parquet, delta, iceberg, in lower case; given: orc"),
        ("of_delta", "the property delta.appendOnly keeps Delta"),
    ):
        assert f"model '{name}': {wrong}" in said[name]


@pytest.mark.full
def test_readers_of_a_ledger_that_was_created_again_are_built_again_though_it_was_optimized(project) -> None:
    """They have read batches of the earlier table alone, under numbers from which the new one goes on."""
    last = project.batches("kept.counted")[-1]
    project.write("models/stage_counted.sql", VIEW + STAGE.format("counted").replace(" from kept", ", 1 as extra from kept"))
    project.run("run", "--full-refresh", "--select", "stage_counted", "counted")
    for keep, batches in ((1, [last + 1]), (0, [-last - 1])):
        assert operate(project, "optimize", model="counted", keep_batches=keep).success
        assert project.batches("kept.counted") == batches
    project.run("run", "--select", "sums")
    assert project.rows("select many from live_sums") == project.rows("select count(distinct id) from stage_counted")
