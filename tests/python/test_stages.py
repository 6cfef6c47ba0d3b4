"""A stage that is a table of the target's own format: each run resolves it anew, and folds what has come and nothing else."""

from __future__ import annotations

import pytest
from conftest import WITH_LOG
from dbt_project import LEDGER, VIEW, DbtProject, model, values

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
