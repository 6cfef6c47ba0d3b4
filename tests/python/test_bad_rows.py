"""Rows that no rule can place: they stop a run before anything is appended, or are rejected where that is asked for."""

from __future__ import annotations

import json

import pytest

from support.dbt_project import LEDGER, VIEW, model
from support.failpoint import Failpoint
from support.lives import operate

BAD_ROWS = {
    "null_key": "(null, 1, false, 'a', 1, 1)",
    "null_version": "(11, null, false, 'a', 1, 1)",
    "bad_sign": "(12, 1, null, 'a', 1, 1)",
}
# A mark of deletes may be text: what is no truth value is a bad row, in ANSI mode too.
TEXT_MARKS = (
    VIEW + "select * from values (1, 1, '0', 'good'), (2, 1, 'maybe', 'it\\'s bad') as t (id, version, is_deleted, block)"
)


def _bad_files() -> dict[str, str]:
    """Return ledgers over one stage each that holds a good block and a bad row."""
    files = {}
    for reason, row in BAD_ROWS.items():
        files[f"models/stg_{reason}.sql"] = VIEW + (
            f"select cast(col1 as bigint) as id, cast(col2 as int) as version, cast(col3 as boolean) as is_deleted, "
            f"cast(col7 as string) as block from values (10, 1, false, 'a', 1, 1, 'good'), {row[:-1]}, 'it\\'s bad')"
        )
        files[f"models/{reason}.sql"] = model(f"ledger(ref('stg_{reason}'))", LEDGER)
    files["models/stg_text_mark.sql"] = TEXT_MARKS
    files["models/text_mark.sql"] = model("ledger(ref('stg_text_mark'))", LEDGER)
    files["models/stg_null_block.sql"] = VIEW + "select 1 as id, 1 as version, false as is_deleted, cast(null as string) as block"
    files["models/null_block.sql"] = model("ledger(ref('stg_null_block'))", LEDGER)
    return files


REJECTING = {
    "models/stage.sql": VIEW + "select * from bad_rows.arrived",
    "models/kept.sql": model("ledger(ref('stage'))", LEDGER | {"on_bad_rows": "reject"}),
    "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('kept')) }}",
    "models/rejected.sql": VIEW + "select * from {{ collapsing.rejects(ref('kept')) }}",
    "models/decided.sql": "select decision, block from {{ collapsing.decisions(ref('kept'), ref('stage')) }}",
}


@pytest.fixture(scope="module")
def bad_rows(make_project):
    """All ledgers of this file, run once; returns (project, what dbt said)."""
    project = make_project("bad_rows", _bad_files() | REJECTING)
    project.sql("create schema if not exists bad_rows")
    project.sql("create table bad_rows.arrived (id bigint, version int, is_deleted boolean, amount bigint, block string)")
    project.sql(
        "insert into bad_rows.arrived values (1, 1, false, 10, 'b1'), (null, 1, false, 11, 'b1'), (null, null, null, 12, 'b1')"
    )
    return project, project.fails("run")


@pytest.mark.only("parquet", "delta", "iceberg")
def test_runs_that_fail_leave_nothing_cached(bad_rows) -> None:
    project, _ = bad_rows
    assert project.cached() == []


@pytest.mark.parametrize("name", [*BAD_ROWS, "text_mark", "null_block"])
def test_bad_rows_stop_the_run_before_anything_is_appended(bad_rows, name: str) -> None:
    project, said = bad_rows
    about = said.split(f"model '{name}': its stage has bad rows: nothing was appended")[1].split("model '")[0]
    assert f"{'bad_sign' if name == 'text_mark' else name}: 1 row, for example {{" in about
    assert ("in block it's bad" in about) == (name != "null_block")
    assert name not in [row[1] for row in project.rows("show tables in bad_rows")]
    assert f"{name}__manifest" not in [row[1] for row in project.rows("show tables in bad_rows")]


REJECTS = "select amount, ledger_reason, ledger_block, ledger_batch from kept__rejects order by amount"


@pytest.mark.only("parquet")  # writes a partition of its own
def test_bad_rows_can_be_rejected(bad_rows, full: bool) -> None:
    rejecting, _ = bad_rows
    assert rejecting.rows("select * from live") == [(1, 1, 10)]
    rejected = [(11, "null_key", "b1", 1), (12, "null_key", "b1", 1)]
    assert rejecting.rows(REJECTS) == rejected
    decided = "select decision, count(*) from decided where block = 'b1' group by decision order by decision"
    assert rejecting.rows(decided) == [("applied", 1), ("null_key", 2)]
    # what a killed run has rejected under the next number is dropped by a run that finds nothing bad
    torn = "null, 1, false, 9L, 'b9', 'null_key', 'b9'"
    rejecting.sql(f"insert overwrite bad_rows.kept__rejects partition (ledger_batch = 2) values ({torn})")
    rejecting.sql("insert into bad_rows.arrived values (2, 1, false, 20, 'b2')")
    rejecting.run("run", "--select", "kept")
    assert rejecting.rows(REJECTS) == rejected
    # and overwritten by one that does; staged again under a token of its own, a corrected row is folded
    rejecting.sql("insert into bad_rows.arrived values (null, 1, false, 30, 'b3'), (3, 1, false, 11, 'b3')")
    events: list = []
    assert rejecting.invoke("run", "--select", "kept", callbacks=[events.append]).success
    warned = [event.info.msg for event in events if event.info.level == "warn" and "model 'kept'" in event.info.msg]
    assert len(warned) == 1 and "rejected into bad_rows.kept__rejects, ledger_batch 3 (null_key: 1)" in warned[0], warned
    assert rejecting.rows(REJECTS) == [*rejected, (30, "null_key", "b3", 3)]
    assert rejecting.rows("select id, amount from live order by id") == [(1, 10), (2, 20), (3, 11)]
    if full:  # a ledger that rejects no more drops them too
        rejecting.sql(f"insert overwrite bad_rows.kept__rejects partition (ledger_batch = 4) values ({torn})")
        rejecting.sql("insert into bad_rows.arrived values (4, 1, false, 40, 'b4')")
        rejecting.write("models/kept.sql", model("ledger(ref('stage'))", LEDGER))
        rejecting.run("run", "--select", "kept")
        rejecting.write("models/kept.sql", REJECTING["models/kept.sql"])
        assert rejecting.rows(REJECTS) == [*rejected, (30, "null_key", "b3", 3)]


@pytest.mark.only("parquet")  # the last statement of a full refresh drops partitions
def test_rejects_of_before_a_killed_full_refresh_do_not_count(bad_rows, capsys) -> None:
    rejecting, _ = bad_rows
    failpoint = Failpoint(("kept",), "alter table bad_rows.{}__rejects drop", 1)
    rejecting.invoke("run", "--full-refresh", "--select", "kept", callbacks=[failpoint])
    assert failpoint.died
    number = -rejecting.batches("kept")[0]
    left = rejecting.rows("select distinct ledger_batch from kept__rejects order by 1")
    assert left[0] == (1,) and left[-1] == (number,)
    counted = rejecting.rows("select amount from rejected order by amount")
    assert counted[:3] == [(11,), (12,), (30,)]
    assert rejecting.rows("select distinct batch from rejected") == [(number,)]
    capsys.readouterr()
    assert operate(rejecting, "status", model="kept", format="json").success
    assert json.loads(capsys.readouterr().out.splitlines()[-1])[0]["rejects"] == len(counted)


@pytest.mark.full
def test_a_column_that_a_setting_spells_anew_is_rejected_into_the_column_that_there_is(bad_rows) -> None:
    rejecting, _ = bad_rows
    rejecting.write(
        "models/kept.sql", model("ledger(ref('stage'))", LEDGER | {"on_bad_rows": "reject", "is_deleted": "IS_DELETED"})
    )
    rejecting.sql("insert into bad_rows.arrived values (null, 1, true, 40, 'b5')")
    rejecting.run("run", "--select", "kept")
    rejecting.write("models/kept.sql", REJECTING["models/kept.sql"])
    assert rejecting.rows("select amount, is_deleted from kept__rejects where ledger_block = 'b5'") == [(40, True)]
    assert "IS_DELETED" not in rejecting.sql("select * from kept__rejects").columns


def test_a_row_without_a_token_cannot_be_rejected(bad_rows) -> None:
    rejecting, _ = bad_rows
    rejecting.sql(
        "insert into bad_rows.arrived values (7, 1, false, 70, null), (null, 1, false, 72, null), (null, 1, false, 71, 'b6')"
    )
    said = rejecting.fails("run", "--select", "kept")
    assert "null_block: 2 rows" in said and "null_key" not in said
    assert rejecting.rows("select count(*) from kept__rejects where ledger_block = 'b6'") == [(0,)]
