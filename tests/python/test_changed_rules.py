"""Rows that are kept under one set of rules, and rules that change, are put back or differ in a letter's case."""

from __future__ import annotations

import pytest

from support.dbt_project import VIEW, DbtProject, model
from support.lives import operate
from support.targets import WITH_LOG

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
}


def _sums(measures: dict[str, str]) -> str:
    return model("projection(ref('counted'))", {"group_by": [], "measures": measures})


COUNT = {"group_by": [], "measures": {"n": "count(*)"}}
COUNTED = model("ledger(ref('stage_counted'))", VERSIONED)
# Models that single tests run.
LAST = {
    "taken": COUNTED,
    "taken_sums": model("projection(ref('counted'))", COUNT),
    "of_orc": f"{{{{ config(file_format='orc') }}}}\n{COUNTED}",
    "of_delta": f"{{{{ config(file_format='delta', tblproperties={{'delta.appendOnly': true}}) }}}}\n{COUNTED}",
}


@pytest.fixture(scope="module")
def project(make_project) -> DbtProject:
    """A stage for each ledger, all of one table, and views of what is live; nothing has arrived yet."""
    files = {"models/sums.sql": _sums({"many": "count_if(other * 1 > 1)"})}
    files |= {f"models/{name}.sql": sql for name, sql in LAST.items()}
    for name, settings in LEDGERS.items():
        # signs as text, as a file of JSON lines may have them
        files[f"models/stage_{name}.sql"] = VIEW + STAGE.format(name)
        files[f"models/{name}.sql"] = model(f"ledger(ref('stage_{name}'))", settings)
    for name in [*LEDGERS, "sums"]:
        files[f"models/live_{name}.sql"] = f"{VIEW}select * from {{{{ collapsing.final(ref('{name}')) }}}}"
    project = make_project("kept", files)
    project.sql("create schema if not exists kept")
    project.sql(
        "create table kept.arrived (ledger string, block string, id int, version int, is_deleted boolean, sign string, "
        "position int, part string, other int) using parquet"
    )
    # other views are built where they are read
    project.run("run", "--exclude", *LAST, *(f"live_{name}" for name in (*LEDGERS, "sums") if name != "parted"))
    return project


def _stage(project: DbtProject, ledger: str, block: str, *rows: str) -> None:
    """Stage rows of (id, version, is_deleted, sign, position, part, other)."""
    project.sql(f"insert into kept.arrived values {', '.join(f'({ledger!r}, {block!r}, {row})' for row in rows)}")


@pytest.mark.full
def test_partitions_that_a_compacted_batch_was_written_by_are_not_taken_away(project) -> None:
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
    assert f"model 'parted': {changed}" in project.fails("run", "--select", "parted")
    project.run("compile", "--select", "live_parted")
    _stage(project, "counted", "0", "1, 0, false, null, 0, 'x', 0")
    project.run("run", "--select", "counted")
    project.write("models/counted.sql", model("ledger(ref('stage_counted'))", VERSIONED | {"key": "version", "version": "id"}))
    assert not operate(project, "undo", model="counted", batch=1).success
    assert """'key' was ["id"] and is ["version"]""" in capsys.readouterr().out
    project.write("models/counted.sql", COUNTED)
    project.write("models/parted.sql", model("ledger(ref('stage_parted'))", LEDGERS["parted"]))
    assert operate(project, "optimize", model="parted").success
    assert project.rows(f"select count(*) from {project.data('parted')} where id = 4") == [(2,)]


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
    left = f"select id, ledger_sign from {project.data('forgetting')} order by 1"
    assert project.rows(left) == [(2, 1), (3, 0), (4, 1)]


def test_events_are_combined_in_the_order_of_versions_whatever_block_comes_first(project) -> None:
    _stage(project, "combining", "a", "1, 2, false, null, 0, 'x', 10")
    _stage(project, "combining", "b", "1, 1, false, null, 0, 'x', 1")
    project.run("run", "--select", "combining", "live_combining")
    assert project.rows("select version, other from live_combining") == [(2, 11)]


def test_a_cancel_row_whose_sign_is_text_comes_before_its_state_row(project) -> None:
    _stage(project, "feed", "a", "1, 1, false, '-1', 1, 'old', 7", "1, 1, false, '+1', 1, 'new', 7")
    project.run("run", "--select", "feed", "live_feed")
    assert project.rows("select part from live_feed") == [("new",)]


def test_a_table_that_the_package_has_not_created_is_told_of(project, target: str) -> None:
    for name in ("taken", "taken_sums"):
        project.sql(f"create table kept.{name} using {target if target in WITH_LOG else 'parquet'} as select 1 as id")
    for name, said in project.failures("run", "--select", "taken", "taken_sums").items():
        assert f"the table kept.{name} is not one that this package has created" in said
        assert project.rows(f"select * from kept.{name}") == [(1,)]


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
    _stage(project, "counted", "a", "1, 1, false, null, 0, 'x', 2", "2, 1, false, null, 0, 'y', 3")
    project.run("run", "--select", "counted", "sums")
    last = project.visible("kept.counted")[-1]
    project.write("models/stage_counted.sql", VIEW + STAGE.format("counted").replace(" from kept", ", 1 as extra from kept"))
    project.run("run", "--full-refresh", "--select", "stage_counted", "counted")
    for keep, numbers in ((1, [-last - 1, last + 2]), (0, [-last - 2])):
        assert operate(project, "optimize", model="counted", keep_batches=keep).success
        assert project.visible("kept.counted") == numbers
    project.run("run", "--select", "sums", "live_sums")
    assert project.rows("select many from live_sums") == project.rows("select count(distinct id) from stage_counted")
