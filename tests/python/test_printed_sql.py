"""The SQL that the five texts print, run by ClickHouse on the blocks of our examples: it gives the rows that we expect."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from support import printed_sql as printed
from support.clickhouse import ClickHouse
from support.examples import last_step, seed

pytestmark = pytest.mark.only("parquet")  # ClickHouse alone


@dataclass(frozen=True)
class Case:
    """An example of ours and the SQL printed for it.

    Parameters
    ----------
    sql : str
        What makes the tables.
    stage, table : str
        Where rows go, and what is read.
    missing : dict
        What an INSERT of the text leaves out, as ClickHouse fills it: {column: value}; any other empty value is NULL.
    last : int
        The last step in which the text's rule and ours agree.
    """

    sql: str
    stage: str
    table: str
    missing: dict[str, str] = field(default_factory=dict)
    last: int = 99


CASES = {
    # its view inserts an id that is new and twice in a block, as block 3 has one, twice
    "example1": Case(printed.EXAMPLE1, "Example1Null", "Example1", last=2),
    "example3": Case(printed.EXAMPLE3, "Stage", "Example3 final"),
    "example4": Case(printed.EXAMPLE4, "Stage", "Example4 final"),
    "example5": Case(printed.EXAMPLE5, "Stage", "Example5 final", {"metric1": "0"}),
    "complex_key": Case(printed.COMPLEX_KEY, "Stage", "Example1 final"),
    "uact": Case(printed.UACT, "UAct", "UAct final"),
    "uact_negative": Case(printed.UACT_NEGATIVE, "UAct", "UAct final"),
    "uact_versioned": Case(printed.UACT_VERSIONED, "UAct", "UAct final"),
    "hackernews_rmt": Case(printed.HACKERNEWS_RMT, "hackernews_rmt", "hackernews_rmt final"),
    "hackernews_views": Case(printed.HACKERNEWS_VIEWS, "hackernews_views", "hackernews_views final", {"views": "0"}),
    "hackernews_views_vcmt": Case(printed.HACKERNEWS_VIEWS_VCMT, "hackernews_views_vcmt", "hackernews_views_vcmt final"),
    "repl_tbl": Case(printed.REPL_TBL, "repl_tbl", "repl_tbl final"),
    "repl_tbl_part": Case(printed.REPL_TBL_PART, "repl_tbl_part", "repl_tbl_part final"),
}


@pytest.fixture(scope="module")
def clickhouse() -> ClickHouse:
    return ClickHouse()


def _fill(clickhouse: ClickHouse, name: str, upto: int) -> None:
    """Make the tables of an example anew and insert its blocks up to a step, an INSERT each."""
    case = CASES[name]
    clickhouse.run("use default")
    clickhouse.run(f"drop database if exists {name}")
    clickhouse.script(f"create database {name}; use {name}; {case.sql}")
    blocks = seed(f"{name}_blocks")
    for step in sorted({int(row["step"]) for row in blocks}):
        rows = [row for row in blocks if int(row["step"]) == step <= upto]
        columns = [column for column in blocks[0] if column not in ("step", "position")]
        values = ", ".join(f"({', '.join(_literal(column, row[column], case) for column in columns)})" for row in rows)
        if rows:
            clickhouse.run(f"insert into {case.stage} ({', '.join(columns)}) values {values}")


def _literal(column: str, value: str, case: Case) -> str:
    """Return a value of a seed as ClickHouse reads it: (empty) stands for the empty string there."""
    if value == "":
        return case.missing.get(column, "NULL")
    return "'" + value.replace("(empty)", "") + "'"


def _expected(seed_name: str, step: int) -> tuple[list[str], list[tuple]]:
    """Return the columns and rows that an example of ours expects after a step."""
    rows = seed(seed_name)
    columns = [column for column in rows[0] if column not in ("step", "position")]
    return columns, sorted(
        (tuple(row[column] or None for column in columns) for row in rows if int(row["step"]) == step), key=str
    )


@pytest.mark.parametrize("name", CASES)
def test_printed_sql_gives_the_rows_that_an_example_expects(clickhouse, name: str) -> None:
    for step in range(1, min(CASES[name].last, last_step(name)) + 1):
        _fill(clickhouse, name, step)
        columns, expected = _expected(f"{name}_expected", step)
        rows = clickhouse.run(f"select {', '.join(columns)} from {CASES[name].table}")
        assert sorted(rows, key=str) == expected, f"after step {step}"


def test_the_view_of_example1_inserts_an_id_twice_that_is_new_and_twice_in_a_block(clickhouse) -> None:
    _fill(clickhouse, "example1", 3)
    _, expected = _expected("example1_expected", 3)
    ids = [row[0] for row in clickhouse.run("select id from Example1")]
    assert sorted(set(ids)) == [row[0] for row in expected] and len(ids) == len(expected) + 1


def test_the_sums_that_example4_prints(clickhouse) -> None:
    for step in (1, 2, 3):
        _fill(clickhouse, "example4", step)
        _, expected = _expected("example4_expected_projection", step)
        assert clickhouse.run("select dim1, sum(Smetric1) from Example4 group by dim1 having sum(sign) > 0") == expected


def test_winners_by_partition_and_after_optimize(clickhouse) -> None:
    _fill(clickhouse, "repl_tbl_part", 1)
    columns, expected = _expected("repl_tbl_part_expected_by_partition", 1)
    select = f"select {', '.join(columns)} from repl_tbl_part"
    apart = "settings do_not_merge_across_partitions_select_final = 1"
    assert sorted(clickhouse.run(f"{select} final {apart}"), key=str) == expected
    clickhouse.run("optimize table repl_tbl_part final")
    assert sorted(clickhouse.run(select), key=str) == expected
