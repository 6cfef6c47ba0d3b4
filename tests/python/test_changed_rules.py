"""Rows that are kept under one set of rules, and rules that change, are put back or differ in a letter's case."""

from __future__ import annotations

import json

import pytest

from support.dbt_project import VIEW, DbtProject, given, model, statement_of
from support.failpoint import Failpoint
from support.lives import operate
from support.targets import PLAIN, WITH_LOG

VERSIONED = {"key": "id", "version": "version", "is_deleted": "is_deleted", "block": "block"}
REPLACING = VERSIONED | {"engine": "replacing", "count_decisions": False}
SIGNED = {"key": "id", "input": "signed", "sign": "sign", "block": "block", "count_decisions": False}
FEED = SIGNED | {"engine": "collapsing", "order_by": "position"}
NUMBERS = "try_cast(part as double) as half, try_cast(part as decimal(38, 0)) as exact"
STAGE = f"select block, id, version, is_deleted, sign, position, part, other, {NUMBERS} from kept.arrived where ledger = '{{}}'"
LEDGERS = {
    "parted": REPLACING | {"partition_by": "part"},
    "forgetting": REPLACING | {"version": "half", "tombstone_retention": 10},
    "combining": REPLACING | {"combine": {"other": "old.other + new.other"}},
    "feed": FEED,
    "counted": VERSIONED,
    "regions": VERSIONED,
    "lonely": SIGNED | {"version": "version", "optimize": "auto"},
    "restored": FEED,
    "halves": VERSIONED | {"key": "half"},
    "exact": VERSIONED | {"key": "exact"},
}
# Ledgers that only --full has.
LATER = ("restored", "halves", "exact")


def _sums(measures: dict[str, str]) -> str:
    return model("projection(ref('counted'))", {"group_by": [], "measures": measures})


def _wide(kind: str, first: str = "feed") -> str:
    join = {"on": {"other": "id"}, "columns": {"region": "part"}, "type": kind}
    return model(f"joined(ref('{first}'), regions=ref('regions'))", {"join": {"regions": join}})


COUNT = {"group_by": [], "measures": {"n": "count(*)"}}
COUNTED = model("ledger(ref('stage_counted'))", VERSIONED)
# Models that single tests run.
LAST = {
    "over_sums": model("projection(ref('sums'))", {"group_by": [], "measures": {"total": "sum(many)"}}),
    "live_over_sums": f"{VIEW}select * from {{{{ collapsing.final(ref('over_sums')) }}}}",
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
    files = {"models/sums.sql": _sums({"many": "count_if(other * 1 > 1)"}), "models/wide.sql": _wide("left")}
    files["models/wide_counted.sql"] = _wide("left", "counted")
    files |= {f"models/{name}.sql": sql for name, sql in LAST.items()}
    for name, settings in ledgers.items():
        # signs as text, as a file of JSON lines may have them
        files[f"models/stage_{name}.sql"] = VIEW + STAGE.format(name)
        files[f"models/{name}.sql"] = model(f"ledger(ref('stage_{name}'))", settings)
    for name in [*ledgers, "sums", "wide", "wide_counted"]:
        files[f"models/live_{name}.sql"] = f"{VIEW}select * from {{{{ collapsing.final(ref('{name}')) }}}}"
    project = make_project("kept", files)
    project.sql("create schema if not exists kept")
    project.sql(
        "create table kept.arrived (ledger string, block string, id int, version int, is_deleted boolean, sign string, "
        "position int, part string, other int) using parquet"
    )
    # other views are built where they are read
    project.run("run", "--exclude", *LAST, *(f"live_{name}" for name in (*ledgers, "sums", "wide") if name != "parted"))
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
    heard: list = []
    assert operate(project, "optimize", [heard.append], model="parted", batches=1).success
    said = [event.info.msg for event in heard if event.info.name == "JinjaLogInfo"]
    assert said == ["collapsing: parted: left out: its rows were folded by other settings"]
    assert project.rows("select count(*) from parted where id = 4") == [(2,)]
    assert f"model 'parted': {changed}" in project.fails("run", "--select", "live_parted")
    project.run("compile", "--select", "live_parted")
    _stage(project, "counted", "0", "1, 0, false, null, 0, 'x', 0")
    project.run("run", "--select", "counted")
    project.write("models/counted.sql", model("ledger(ref('stage_counted'))", VERSIONED | {"key": "version", "version": "id"}))
    for operation, options in (("undo", {}), ("status", {"scan": True})):
        assert not operate(project, operation, model="counted", **options).success
        assert """'key' was ["id"] and is ["version"]""" in capsys.readouterr().out, operation
    project.write("models/counted.sql", COUNTED)
    project.write("models/parted.sql", model("ledger(ref('stage_parted'))", LEDGERS["parted"]))
    assert operate(project, "optimize", model="parted").success
    assert project.rows("select count(*) from parted where id = 4") == [(2,)]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(_wide("left", "counted"), id="joined", marks=pytest.mark.full),
        pytest.param(_sums({"many": "count(*)"}), id="projection"),
    ],
)
def test_a_ledger_is_not_dropped_for_what_takes_its_name(project, body: str) -> None:
    before = project.batches("kept.parted")
    project.write("models/parted.sql", body)
    said = " ".join(project.fails("run", "--select", "parted", "--full-refresh").split())
    assert "model 'parted': the table" in said and "is that of a ledger, whose rows only its stage could give again" in said
    assert before and project.batches("kept.parted") == before
    project.write("models/parted.sql", model("ledger(ref('stage_parted'))", LEDGERS["parted"]))


def test_a_tombstone_that_keeps_older_rows_of_later_batches_out_is_not_forgotten(project, capsys) -> None:
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
    # an optimize checks what no run has checked yet, however the setting spells the version
    wrong = LEDGERS["forgetting"] | {"version": "HALF", "tombstone_retention": "unix_timestamp()"}
    project.write("models/forgetting.sql", model("ledger(ref('stage_forgetting'))", wrong))
    assert not operate(project, "optimize", model="forgetting").success
    assert "model 'forgetting': setting 'tombstone_retention' must be SQL" in " ".join(capsys.readouterr().out.split())
    project.write("models/forgetting.sql", model("ledger(ref('stage_forgetting'))", LEDGERS["forgetting"]))


def test_events_are_combined_in_the_order_of_versions_whatever_block_comes_first(project) -> None:
    _stage(project, "combining", "a", "1, 2, false, null, 0, 'x', 10")
    _stage(project, "combining", "b", "1, 1, false, null, 0, 'x', 1")
    project.run("run", "--select", "combining", "live_combining")
    assert project.rows("select version, other from live_combining") == [(2, 11)]


def test_a_cancel_row_whose_sign_is_text_comes_before_its_state_row(project) -> None:
    _stage(project, "feed", "a", "1, 1, false, '-1', 1, 'old', 7", "1, 1, false, '+1', 1, 'new', 7")
    _stage(project, "regions", "a", "7, 1, false, null, 0, 'north', 0")
    project.run("run", "--select", "feed", "live_feed", "regions")
    assert project.rows("select part from live_feed") == [("new",)]


@pytest.mark.full
def test_a_first_ledger_whose_signs_do_not_add_up_is_joined_as_final_shows_it(project) -> None:
    """The first ledger's only live row has the sign of a row that was never there against it."""
    project.run("run", "--select", "wide", "live_wide")
    assert project.rows("select id, part, region from live_wide") == [(1, "new", "north")]
    _stage(project, "feed", "b", "1, 1, false, '-1', 2, 'new', 7", "1, 1, false, '1', 3, 'newest', 8")
    project.run("run", "--select", "feed", "wide")
    assert project.rows("select id, part, region from live_wide") == [(1, "newest", None)]


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


def test_what_is_summed_was_built_by_the_settings_of_its_model(project) -> None:
    """A rollup whose source projection waits for its run, and a projection of a ledger that waits for a full refresh."""
    project.run("run", "--select", "over_sums")
    project.write("models/sums.sql", _sums({"many": "sum(other)"}))
    project.write("models/parted.sql", model("ledger(ref('stage_parted'))", VERSIONED))
    said = project.failures("run", "--select", "over_sums", "parted_sums")
    assert "model 'sums': its table kept.sums was built with a different group_by" in said["over_sums"].replace("`", "")
    assert "model 'parted': its rows were folded by other settings: 'engine' was \"replacing\"" in said["parted_sums"]
    project.run("run", "--select", "sums", "over_sums", "live_over_sums")
    assert project.rows("select total from live_over_sums") == project.rows("select sum(other * ledger_sign) from counted")
    for name, body in (
        ("sums", _sums({"many": "count_if(other * 1 > 1)"})),
        ("parted", model("ledger(ref('stage_parted'))", LEDGERS["parted"])),
    ):
        project.write(f"models/{name}.sql", body)
    project.run("run", "--select", "sums")


@pytest.mark.full
def test_a_projection_that_another_command_has_brought_further_is_not_set_back(project) -> None:
    """The other one commits after this command's run of the ledger, which told its projections of the last batch that it knew."""
    before = project.batches("kept.sums")
    went_on: list[str] = []

    def go_on(event) -> None:
        if not went_on and (statement_of(event) or "").startswith("describe table extended kept.sums"):
            for table in ("counted", "sums"):
                kept = project.columns(f"kept.{table}", without=["ledger_batch"])
                project.sql(f"insert into kept.{table} select {kept}, 3 from kept.{table}")
                went_on.append(table)

    _stage(project, "counted", "b", "3, 1, false, null, 0, 'x', 5")
    assert project.invoke("run", "--select", "counted", "sums", callbacks=[go_on]).success
    assert went_on and project.batches("kept.sums") == [*before, 3]
    for table in went_on:
        project.drop_batch(table, 3)
    project.run("run", "--select", "counted", "sums")
    assert project.rows("select many from live_sums") == [(3,)]


@pytest.mark.full
def test_a_joined_ledger_is_marked_with_the_rules_of_the_rows_that_it_has(project) -> None:
    """It was built while nothing had arrived, and by a run that died after its commit."""
    for kind, live in (("inner", 0), ("left", 3)):
        project.write("models/wide_counted.sql", _wide(kind, "counted"))
        project.run("run", "--select", "wide_counted", "live_wide_counted")
        assert project.rows("select count(*) from live_wide_counted") == [(live,)], kind
    project.write("models/wide_counted.sql", _wide("inner", "counted"))
    failpoint = Failpoint(("wide_counted",), "alter table kept.wide_counted set tblproperties", 2)
    assert not project.invoke("run", "--select", "wide_counted", callbacks=[failpoint]).success and failpoint.died
    assert project.rows("select count(*) from live_wide_counted") == [(0,)]
    project.write("models/wide_counted.sql", _wide("left", "counted"))
    project.run("run", "--select", "wide_counted")
    assert project.rows("select count(*) from live_wide_counted") == [(3,)]


@pytest.mark.full
def test_cancel_rows_that_an_optimize_leaves_are_not_dead(project) -> None:
    _stage(project, "lonely", "a", "1, 1, false, '-1', 1, '1', 7", "1, 2, false, '1', 2, '1', 7")
    project.run("run", "--select", "lonely", "live_lonely")
    assert project.batches("kept.lonely") == [-1]
    _stage(project, "lonely", "b", "2, 1, false, '1', 3, '2', 7")
    project.run("run", "--select", "lonely")
    assert project.batches("kept.lonely") == [-1, 2]
    assert project.rows("select count(*) from live_lonely") == [(3,)]


@pytest.mark.full
def test_the_block_of_a_row_that_an_undo_has_restored_is_in_the_manifest(project) -> None:
    """Its batch is taken back, its block is to be read again, and the base has the row under that block."""
    _stage(project, "restored", "a", "1, 1, false, '+1', 1, '1', 7")
    project.run("run", "--select", "restored")
    _stage(project, "restored", "b", "1, 1, false, '-1', 2, '1', 7", "1, 1, false, '1', 3, '2', 7")
    project.run("run", "--select", "restored", "live_restored")
    assert operate(project, "undo", model="restored", batch=2, unread=True).success
    _without_block(project, "b")
    assert operate(project, "optimize", model="restored").success
    assert project.rows("select part from live_restored") == [("1",)]
    properties = {"name": "restored", "data_tests": [{"collapsing.complete": given(stage="ref('stage_restored')")}]}
    project.write("models/restored.yml", json.dumps({"models": [properties]}))
    assert set(project.run("test", "--select", "restored").values()) == {"pass"}


@pytest.mark.full
def test_a_decimal_that_is_asked_for_is_not_rounded(project) -> None:
    _stage(project, "exact", "a", "1, 1, false, null, 0, '2', 0")
    project.run("run", "--select", "exact")
    for text in ("1.5", "1.5e0"):
        project.write("models/life.sql", VIEW + f"select * from {{{{ collapsing.explain_key(ref('exact'), '{text}') }}}}")
        assert f"'{text}' is not a valid value of 'exact', which is decimal(38,0)" in project.fails("run", "--select", "life")
    project.write("models/life.sql", VIEW + "select * from {{ collapsing.explain_key(ref('exact'), '2.0') }}")
    project.run("run", "--select", "life")
    assert project.rows("select step from life order by place") == [("staged",), ("appended",), ("state",)]


@pytest.mark.full
def test_the_life_of_keys_that_are_equal_and_read_differently_is_one(project) -> None:
    for version, half in ((1, "0.0"), (2, "-0.0")):
        _stage(project, "halves", half, f"1, {version}, false, null, 0, '{half}', 0")
        project.run("run", "--select", "halves")
    life = "{{ collapsing.explain_key(ref('halves'), '0.0') }}"
    project.write("models/life.sql", f"{VIEW}select * from {life}")
    project.run("run", "--select", "life")
    told = project.rows("select place, batch, step from life order by place")
    assert [place for place, *_ in told] == list(range(1, len(told) + 1))
    assert [step for _, batch, step in told if batch == 2] == ["staged", "appended", "appended", "state"]


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
    for operation in ("undo", "optimize"):
        assert not operate(project, operation, model="copied").success
        assert "the table kept.copied is not one that this package has created" in " ".join(capsys.readouterr().out.split())
    heard: list = []
    assert operate(project, "optimize", [heard.append], model="copied", batches=1).success
    assert any("copied: left out: its table is not one that this package has created" in event.info.msg for event in heard)
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
    project.run("run", "--select", "sums", "wide_counted")
    staged = project.rows("select count(distinct id) from stage_counted")
    assert project.rows("select many from live_sums") == project.rows("select count(*) from live_wide_counted") == staged
