"""What tells a user about a ledger: its history, blocks and rejects as relations."""

from __future__ import annotations

import pytest

from support.dbt_project import VIEW, DbtProject, model
from support.lives import operate

EVENTS = {"version": "version", "is_deleted": "is_deleted", "block": "block", "order_by": "position"}
SUMS = {"group_by": ["status"], "measures": {"n": "count(*)"}}
WRONG = {
    "history(ref('stg_orders'))": "model 'stg_orders': history needs a model with settings in config(meta=",
    "rejects('orders')": "rejects takes a relation, such as ref('orders'); given: ",
    "blocks(ref('sums'))": "model 'sums': blocks needs a ledger; this is a projection",
    "blocks(ref('whole'))": "model 'whole': setting 'block' must be the column with the block token",
}
FILES = {
    "models/stg_orders.sql": VIEW + "select position, id, version, is_deleted, status, amount, block from tools.arrived",
    "models/stg_pairs.sql": VIEW + "select *, 'x' as tenant from {{ ref('stg_orders') }} where id = 1 and version is not null",
    "models/stg_whole.sql": VIEW + "select id, version, amount from tools.arrived where id = 1 and version is not null",
    "models/orders.sql": model("ledger(ref('stg_orders'))", EVENTS | {"key": "id", "on_bad_rows": "reject"}),
    "models/pairs.sql": model("ledger(ref('stg_pairs'))", EVENTS | {"key": ["tenant", "id"], "engine": "replacing"}),
    "models/whole.sql": model("ledger(ref('stg_whole'))", {"key": "id", "version": "version"}),
    "models/sums.sql": model("projection(ref('orders'))", SUMS),
    "models/told_history.sql": VIEW + "select * from {{ collapsing.history(ref('orders')) }}",
    "models/told_blocks.sql": VIEW + "select * from {{ collapsing.blocks(ref('orders')) }}",
    "models/told_rejects.sql": VIEW + "select * from {{ collapsing.rejects(ref('orders')) }}",
    "models/no_rejects.sql": VIEW + "select * from {{ collapsing.rejects(ref('pairs')) }}",
} | {f"models/wrong_{n}.sql": f"{VIEW}select * from {{{{ collapsing.{call} }}}}" for n, call in enumerate(WRONG)}
BLOCKS = "select block, batch, rows_read from told_blocks order by batch, block"
HISTORY = "select batch, act, blocks, rows_read, states, cancels, tombstones from told_history order by batch, act"
REJECTS = "select batch, block, reason, get_json_object(`row`, '$.amount') from told_rejects order by all"
WRONG_MODELS = [f"wrong_{n}" for n in range(len(WRONG))]


@pytest.fixture(scope="module")
def tools(make_project, full: bool) -> DbtProject:
    """Ledgers of several kinds with four blocks folded, and views of what is told of one, made after the first block."""
    project = make_project("tools", FILES)
    project.sql("create schema if not exists tools")
    columns = "position int, id int, version int, is_deleted boolean, status string, amount int, block string"
    project.sql(f"create table tools.arrived ({columns}) using parquet")
    if full:
        project.run("compile", "--select", "told_history", "told_blocks", "told_rejects", "no_rejects")
    _arrive(project, "b1", "1, 1, false, 'new', 10", "2, 5, false, 'new', 20", "null, 1, false, 'new', 30")
    project.run("run", "--exclude", *WRONG_MODELS)
    _fold(project, "b2", "1, 1, false, 'late', 11", "1, 2, false, 'paid', 12", "1, 1, false, 'new', 10")
    _fold(project, "b3", "1, 3, true, 'paid', 12", "1, 4, false, 'back', 13", "1, null, false, 'bad', 0")
    _fold(project, "b4", "1, 9, true, 'back', 13")
    return project


def _arrive(project: DbtProject, block: str, *rows: str) -> None:
    """Stage rows of (id, version, is_deleted, status, amount) as a block, in this order."""
    staged = ", ".join(f"({position}, {row}, '{block}')" for position, row in enumerate(rows))
    project.sql(f"insert into tools.arrived values {staged}")


def _fold(project: DbtProject, block: str, *rows: str) -> None:
    """Stage a block, and fold it with the ledger that is told about."""
    _arrive(project, block, *rows)
    project.run("run", "--select", "orders")


def test_what_cannot_be_told_is_an_error_that_says_why(tools) -> None:
    said = " ".join(tools.fails("run", "--select", *WRONG_MODELS).split())
    for words in WRONG.values():
        assert words in said, words


def test_relations_have_the_columns_that_are_documented(tools) -> None:
    assert tools.sql("select * from told_history").dtypes == [
        *(("batch", "int"), ("act", "string"), ("run_id", "string"), ("started_at", "timestamp"), ("blocks", "bigint")),
        *(("rows_read", "bigint"), ("decisions", "map<string,bigint>")),
        *(("states", "bigint"), ("cancels", "bigint"), ("tombstones", "bigint")),
    ]
    assert tools.sql("select * from told_blocks").dtypes == [("block", "string"), ("batch", "int"), ("rows_read", "bigint")]
    assert tools.sql("select * from no_rejects").columns == ["batch", "block", "reason", "row"]
    assert tools.rows("select * from no_rejects") == []


# What the views tell after a batch that was undone, and whose blocks were folded again.
RUNS = [
    *((1, "run", 1, 3, 2, 0, 0), (2, "run", 1, 3, 1, 1, 0), (3, "run", 1, 3, 1, 1, 0), (4, "run", 1, 1, 0, 1, 1)),
    *((5, "undone", 1, 1, 0, 0, 0), (6, "undone", 1, 2, 1, 0, 0), (7, "undo", 0, 0, 1, 0, 1), (8, "run", 2, 3, 1, 0, 0)),
]
FOLDED = [("b1", 1, 3), ("b2", 2, 3), ("b3", 3, 3), ("b4", 4, 1), ("b5", 8, 1), ("b6", 8, 2)]
BAD = [(1, "b1", "null_key", "30"), (3, "b3", "null_version", "0"), (8, "b6", "null_key", "61")]


@pytest.fixture(scope="module")
def undone(tools) -> DbtProject:
    """The project after two batches were undone, of which the first has no rows, and their blocks folded again."""
    _fold(tools, "b5", "1, 1, false, 'stale', 1")
    _fold(tools, "b6", "3, 1, false, 'new', 60", "null, 6, false, 'bad', 61")
    assert operate(tools, "undo", model="orders", batch=5).success
    assert tools.rows("select count(*) from told_blocks where block >= 'b5'") == [(0,)]
    tools.run("run", "--select", "orders")
    return tools


def _check(project: DbtProject, history: list[tuple]) -> None:
    """Compare what the views show with what happened."""
    assert project.rows(HISTORY) == history
    assert project.rows(BLOCKS) == FOLDED
    assert project.rows(REJECTS) == BAD


def test_views_of_a_ledger_follow_it_batch_by_batch(undone) -> None:
    _check(undone, RUNS)
    decided = "select decisions['tie'], run_id is not null, started_at > timestamp'2020-01-01' from told_history where batch = 2"
    assert undone.rows(decided) == [(1, True, True)]
    [(read, decided)] = undone.rows(
        "select sum(rows_read), sum(aggregate(map_values(decisions), 0L, (a, b) -> a + b)) from told_history"
    )
    assert read == decided == 16


def test_views_of_a_ledger_stay_true_after_optimize(undone) -> None:
    undone.run("run", "--select", "sums")
    assert operate(undone, "optimize", model="orders").success
    assert undone.visible("orders") == [-8]
    _check(undone, [*RUNS[:-1], (8, "optimize", 0, 0, 2, 0, 1), RUNS[-1]])


def test_views_of_a_ledger_tell_what_a_full_refresh_has_folded(undone) -> None:
    before = undone.rows(HISTORY)
    undone.run("run", "--select", "orders", "--full-refresh")
    assert undone.visible("orders") == [-9]
    assert undone.rows(BLOCKS) == [(block, 9, read) for block, _, read in FOLDED]
    assert [batch for batch, *_ in undone.rows(REJECTS)] == [9, 9, 9]
    assert undone.rows(HISTORY) == [*before, (9, "full_refresh", 6, 13, 2, 0, 1)], "what was done stays told"
