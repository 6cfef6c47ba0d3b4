"""A stage that is a table of the target's own format: each run resolves it anew, and folds what has come and nothing else."""

from __future__ import annotations

import pytest

from support.dbt_project import LEDGER, VIEW, DbtProject, model, values
from support.targets import WITH_LOG

COLUMNS = "id int, version int, is_deleted boolean, block string"


WATCHED = "{{ config(on_schema_change='fail') }}\n"
SHELVES = {"group_by": {"shelf": "cast(version as tinyint)"}, "measures": {"least": "min(size)", "n": "count(*)"}}
LETTERS = {"key": "userId", "version": "VERSION", "order_by": ["VERSION", "userId"], "is_deleted": "Is_Deleted", "block": "block"}
FILES = {
    "models/stage.sql": VIEW + "select * from staged.arrived",
    "models/kept.sql": model("ledger(ref('stage'))", LEDGER),
    "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('kept')) }}",
    "models/stg_sizes.sql": VIEW + "select * from staged.sizes",
    "models/sized.sql": WATCHED + model("ledger(ref('stg_sizes'))", LEDGER),
    "models/size_sums.sql": WATCHED + model("projection(ref('sized'))", SHELVES),
    "models/live_sizes.sql": VIEW + "select * from {{ collapsing.final(ref('sized')) }}",
    "models/shelves.sql": VIEW + "select * from {{ collapsing.final(ref('size_sums')) }}",
    "models/stg_letters.sql": VIEW + "select *, id as UserID from staged.letters",
    "models/lettered.sql": model("ledger(ref('stg_letters'))", LETTERS),
    "models/letter_sums.sql": model("projection(ref('lettered'))", {"group_by": ["USERID"], "measures": {"n": "count(*)"}}),
    "models/live_letters.sql": VIEW + "select * from {{ collapsing.final(ref('lettered')) }}",
}


@pytest.fixture(scope="module")
def staged(make_project, target: str) -> DbtProject:
    """Ledgers over views of tables, one in the target's format, partitioned by the block token, of which one block is folded."""
    project = make_project("staged", FILES)
    project.sql("create schema if not exists staged")
    table_format = target if target in WITH_LOG else "parquet"
    project.sql(f"create table staged.arrived ({COLUMNS}) using {table_format} partitioned by (block)")
    project.sql("insert into staged.arrived values (1, 1, false, 'a'), (2, 1, false, 'a')")
    if target in WITH_LOG:
        project.run("run", "--select", "stage+")
    return project


def _arrive(project: DbtProject, *rows: tuple) -> None:
    project.sql(f"insert into staged.arrived values {values(rows)}")
    project.run("run", "--select", "kept")


@pytest.mark.only(*WITH_LOG)  # of parquet test_intake shows it
def test_each_run_folds_what_the_table_has_got_since(staged: DbtProject) -> None:
    _arrive(staged, (1, 2, False, "b"), (2, 2, True, "b"), (3, 1, False, "b"))
    staged.run("run", "--select", "kept")
    assert staged.rows("select id, version from live order by id") == [(1, 2), (3, 1)]
    assert staged.rows("select max(ledger_batch), count(distinct ledger_block) from kept") == [(2, 2)]


@pytest.mark.only(*WITH_LOG)
def test_what_has_left_the_table_stays_in_the_ledger(staged: DbtProject) -> None:
    staged.sql("truncate table staged.arrived")
    _arrive(staged, (4, 1, False, "d"))
    assert staged.rows("select id, version from live order by id") == [(1, 2), (3, 1), (4, 1)]


@pytest.mark.only("delta", "iceberg")
def test_small_integers_are_kept_in_the_types_that_the_format_has(staged, target: str) -> None:
    """Iceberg widens them: with on_schema_change dbt compares the types of a run with those of the table."""
    project = staged
    small = "size smallint, sizes array<tinyint>, box struct<tinyint: int, wide: map<smallint, tinyint>>"
    project.sql(f"create table staged.sizes ({COLUMNS}, {small}) using parquet")
    for block, rows, models in (("a", ((1, 7), (2, -300)), ["stg_sizes+"]), ("b", ((1, 8),), ["sized", "size_sums"])):
        for key, size in rows:
            nested = "array(1, null), named_struct('tinyint', 5, 'wide', map(300, 3))"
            version = 2 if block == "b" else 1
            project.sql(f"insert into staged.sizes select {key}, {version}, false, '{block}', {size}, {nested}")
        project.run("run", "--select", *models)
    told = "id, size, to_json(sizes), to_json(box)"
    nested = "[1,null]", '{"tinyint":5,"wide":{"300":3}}'
    assert project.rows(f"select {told} from live_sizes order by id") == [(1, 8, *nested), (2, -300, *nested)]
    assert project.rows("select * from shelves order by shelf") == [(1, -300, 1), (2, 8, 1)]
    kept = "int" if target == "iceberg" else "tinyint"
    assert dict(row[:2] for row in project.rows("describe sized"))["ledger_sign"] == kept


@pytest.mark.full
def test_settings_name_columns_in_letters_of_either_case(staged) -> None:
    project = staged
    project.sql(f"create table staged.letters ({COLUMNS}) using parquet")
    for rows, models in (
        ("(1, 1, false, 'a'), (2, 1, false, 'a')", ["stg_letters+"]),
        ("(1, 2, true, 'b'), (2, 3, false, 'b')", ["lettered", "letter_sums"]),
    ):
        project.sql(f"insert into staged.letters values {rows}")
        project.run("run", "--select", *models)
    assert project.rows("select userid, version from live_letters") == [(2, 3)]
    assert project.rows("select userid from letter_sums group by userid having sum(ledger_sign) > 0") == [(2,)]
    assert "userId" in project.sql("select * from lettered").columns
    respelled = "select ID, Version as version, IS_DELETED, Block, userid as uSERiD from staged.stg_letters_first"
    project.sql("create view staged.stg_letters_first as select *, id as userid from staged.letters")
    project.sql(f"create or replace view staged.stg_letters as {respelled}")
    project.sql("insert into staged.letters values (3, 1, false, 'c')")
    project.run("run", "--select", "lettered")
    assert sorted(project.rows("select userid, id from live_letters")) == [(2, 2), (3, 3)]
