"""Rows that no rule can place: they stop a run before anything is appended, or are rejected where that is asked for."""

from __future__ import annotations

import pytest

from support.dbt_project import LEDGER, VIEW, model, nodes_of

pytestmark = pytest.mark.only("parquet")  # rules of rows, which no format changes

# A ledger, and the bad row of its stage.
BAD_ROWS = {
    "null_key": "(null, 1, false, 'a', 1, 1)",
    "null_version": "(11, 1, false, 'a', null, 1)",
    "bad_sign": "(12, 1, null, 'a', 1, 1)",
}
# What a run says of the bad rows of each ledger.
SAID = {
    "null_key": "null_key (id must not be NULL): 1 row, for example "
    '{"id":null,"version":1,"is_deleted":false} in block it\'s bad',
    "null_version": "null_version (version and part must not be NULL): 1 row, for example "
    '{"id":11,"version":1,"part":null,"is_deleted":false} in block it\'s bad',
    "bad_sign": "bad_sign (is_deleted must be a boolean, 0 or 1): 1 row, for example "
    '{"id":12,"version":1,"is_deleted":null} in block it\'s bad',
    "text_mark": "bad_sign (is_deleted must be a boolean, 0 or 1): 1 row, for example "
    '{"id":2,"version":1,"is_deleted":"maybe"} in block it\'s bad',
    "signed": 'bad_sign (sign must be 1 or -1): 4 rows, for example {"id":2,"version":1,"sign":0} in block b; '
    '{"id":3,"version":1,"sign":null} in block b; {"id":4,"version":1,"sign":2} in block b',
    "null_block": "null_block (block must not be NULL or empty): 1 row, for example "
    '{"id":1,"version":1,"is_deleted":false} in block NULL',
    "empty_block": "null_block (block must not be NULL or empty): 1 row, for example "
    """{"id":1,"version":1,"is_deleted":false} in block ''""",
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
            "select cast(col1 as bigint) as id, cast(col2 as int) as version, col5 as part, cast(col3 as boolean) as is_deleted, "
            f"cast(col7 as string) as block from values (10, 1, false, 'a', 1, 1, 'good'), {row[:-1]}, 'it\\'s bad')"
        )
        version = {"version": ["version", "part"]} if reason == "null_version" else {}
        files[f"models/{reason}.sql"] = model(f"ledger(ref('stg_{reason}'))", LEDGER | version)
    files["models/stg_text_mark.sql"] = TEXT_MARKS
    files["models/text_mark.sql"] = model("ledger(ref('stg_text_mark'))", LEDGER)
    signs = "(1, 1, 1, 'b'), (2, 1, 0, 'b'), (3, 1, null, 'b'), (4, 1, 2, 'b'), (5, 1, 3, 'b')"
    files["models/stg_signed.sql"] = VIEW + f"select * from values {signs} as t (id, version, sign, block)"
    files["models/signed.sql"] = model(
        "ledger(ref('stg_signed'))", {"key": "id", "version": "version", "sign": "sign", "block": "block"}
    )
    for name, token in {"null_block": "cast(null as string)", "empty_block": "''"}.items():
        files[f"models/stg_{name}.sql"] = VIEW + f"select 1 as id, 1 as version, false as is_deleted, {token} as block"
        files[f"models/{name}.sql"] = model(f"ledger(ref('stg_{name}'))", LEDGER)
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


def test_bad_rows_stop_the_run_before_anything_is_appended(bad_rows) -> None:
    project, said = bad_rows
    tables = [row[1] for row in project.rows("show tables in bad_rows")]
    for name, about in SAID.items():
        begin = f"model '{name}': its stage has bad rows: nothing was appended, and no block counts as read.\n"
        assert said.split(begin)[1].split("\n")[0].strip() == about
        assert name not in tables


REJECTS = "select cast(get_json_object(`row`, '$.amount') as int), reason, block, batch from rejected order by 1"


def test_bad_rows_can_be_rejected(bad_rows) -> None:
    rejecting, _ = bad_rows
    assert rejecting.rows("select * from live") == [(1, 1, 10)]
    rejected = [(11, "null_key", "b1", 1), (12, "null_key", "b1", 1)]
    assert rejecting.rows(REJECTS) == rejected
    decided = "select decision, count(*) from decided where block = 'b1' group by decision order by decision"
    assert rejecting.rows(decided) == [("applied", 1), ("null_key", 2)]
    rejecting.sql("insert into bad_rows.arrived values (2, 1, false, 20, 'b2')")
    rejecting.run("run", "--select", "kept")
    assert rejecting.rows(REJECTS) == rejected
    # staged again under a token of its own, a corrected row is folded
    rejecting.sql("insert into bad_rows.arrived values (null, 1, false, 30, 'b3'), (3, 1, false, 11, 'b3')")
    [run] = nodes_of(rejecting.invoke("run", "--select", "kept"))
    assert "null_key 1" in run.message, "the line of a run tells of it"
    assert rejecting.rows(REJECTS) == [*rejected, (30, "null_key", "b3", 3)]
    assert rejecting.rows("select id, amount from live order by id") == [(1, 10), (2, 20), (3, 11)]


def test_a_row_without_a_token_cannot_be_rejected(bad_rows) -> None:
    rejecting, _ = bad_rows
    before = rejecting.rows(REJECTS)
    rejecting.sql(
        "insert into bad_rows.arrived values (7, 1, false, 70, null), (null, 1, false, 72, null), (null, 1, false, 71, 'b6')"
    )
    said = rejecting.fails("run", "--select", "kept")
    assert "null_block (block must not be NULL or empty): 2 rows" in said and "null_key" not in said
    assert rejecting.rows(REJECTS) == before
