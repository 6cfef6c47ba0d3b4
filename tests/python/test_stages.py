"""A stage that is a table of the target's own format: each run resolves it anew, and folds what has come and nothing else."""

from __future__ import annotations

import pytest

from support.dbt_project import LEDGER, VIEW, DbtProject, model, values
from support.targets import WITH_LOG

COLUMNS = "id int, version int, is_deleted boolean, block string"


@pytest.fixture(scope="module")
def staged(make_project, target: str) -> DbtProject:
    """A ledger over a view of a table in the target's format, partitioned by the block token; nothing has arrived."""
    project = make_project(
        "staged",
        {
            "models/stage.sql": VIEW + "select * from staged.arrived",
            "models/kept.sql": model("ledger(ref('stage'))", LEDGER),
            "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('kept')) }}",
        },
    )
    project.sql("create schema if not exists staged")
    table_format = target if target in WITH_LOG else "parquet"
    project.sql(f"create table staged.arrived ({COLUMNS}) using {table_format} partitioned by (block)")
    return project


def _arrive(project: DbtProject, *rows: tuple) -> None:
    project.sql(f"insert into staged.arrived values {values(rows)}")
    project.run("run")


def test_each_run_folds_what_the_table_has_got_since(staged: DbtProject) -> None:
    _arrive(staged, (1, 1, False, "a"), (2, 1, False, "a"))
    _arrive(staged, (1, 2, False, "b"))
    _arrive(staged, (2, 2, True, "c"), (3, 1, False, "c"))
    staged.run("run")
    assert staged.rows("select id, version from live order by id") == [(1, 2), (3, 1)]
    assert staged.rows("select max(ledger_batch), count(distinct ledger_block) from kept") == [(3, 3)]


def test_what_has_left_the_table_stays_in_the_ledger(staged: DbtProject) -> None:
    staged.sql("truncate table staged.arrived")
    _arrive(staged, (4, 1, False, "d"))
    assert staged.rows("select id, version from live order by id") == [(1, 2), (3, 1), (4, 1)]


def test_small_integers_are_kept_in_the_types_that_the_format_has(make_project, target: str) -> None:
    """Iceberg widens them: with on_schema_change dbt compares the types of a run with those of the table."""
    watched = "{{ config(on_schema_change='fail') }}\n"
    sums = {"group_by": {"shelf": "cast(version as tinyint)"}, "measures": {"least": "min(size)", "n": "count(*)"}}
    project = make_project(
        "small",
        {
            "models/stage.sql": VIEW + "select * from small.arrived",
            "models/kept.sql": watched + model("ledger(ref('stage'))", LEDGER),
            "models/sums.sql": watched + model("projection(ref('kept'))", sums),
            "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('kept')) }}",
            "models/shelves.sql": VIEW + "select * from {{ collapsing.final(ref('sums')) }}",
        },
    )
    project.sql("create schema if not exists small")
    small = "size smallint, sizes array<tinyint>, box struct<tinyint: int, wide: map<smallint, tinyint>>"
    project.sql(f"create table small.arrived ({COLUMNS}, {small}) using parquet")
    for block, rows in {"a": ((1, 7), (2, -300)), "b": ((1, 8),)}.items():
        for key, size in rows:
            nested = "array(1, null), named_struct('tinyint', 5, 'wide', map(300, 3))"
            version = 2 if block == "b" else 1
            project.sql(f"insert into small.arrived select {key}, {version}, false, '{block}', {size}, {nested}")
        project.run("run")
    told = "id, size, to_json(sizes), to_json(box)"
    nested = "[1,null]", '{"tinyint":5,"wide":{"300":3}}'
    assert project.rows(f"select {told} from live order by id") == [(1, 8, *nested), (2, -300, *nested)]
    assert project.rows("select * from shelves order by shelf") == [(1, -300, 1), (2, 8, 1)]
    kept = "int" if target == "iceberg" else "tinyint"
    assert dict(row[:2] for row in project.rows("describe kept"))["ledger_sign"] == kept


def test_settings_name_columns_in_letters_of_either_case(make_project) -> None:
    settings = {"key": "userId", "version": "VERSION", "is_deleted": "Is_Deleted", "block": "block"}
    project = make_project(
        "letters",
        {
            "models/stage.sql": VIEW + "select *, id as UserID from letters.arrived",
            "models/kept.sql": model("ledger(ref('stage'))", settings),
            "models/sums.sql": model("projection(ref('kept'))", {"group_by": ["USERID"], "measures": {"n": "count(*)"}}),
            "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('kept')) }}",
        },
    )
    project.sql("create schema if not exists letters")
    project.sql(f"create table letters.arrived ({COLUMNS}) using parquet")
    for rows in ("(1, 1, false, 'a'), (2, 1, false, 'a')", "(1, 2, true, 'b'), (2, 3, false, 'b')"):
        project.sql(f"insert into letters.arrived values {rows}")
        project.run("run")
    assert project.rows("select userid, version from live") == [(2, 3)]
    assert project.rows("select userid from sums group by userid having sum(ledger_sign) > 0") == [(2,)]
    assert "userId" in project.sql("select * from kept").columns
