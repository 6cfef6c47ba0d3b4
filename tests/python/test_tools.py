"""What tells a user about a ledger: its history, blocks and rejects as relations."""

from __future__ import annotations

from dataclasses import dataclass

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
    "models/no_rejects_of_whole.sql": VIEW + "select * from {{ collapsing.rejects(ref('whole')) }}",
} | {f"models/wrong_{n}.sql": f"{VIEW}select * from {{{{ collapsing.{call} }}}}" for n, call in enumerate(WRONG)}
BLOCKS = "select block, batch, rows_read from told_blocks order by batch, block"
HISTORY = "select batch, blocks, rows_read, states, cancels, undoes from told_history order by batch"
REJECTS = "select id, amount, block, reason, ledger_block, batch from told_rejects order by all"
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


def test_relations_without_rows_where_nothing_was_rejected(tools) -> None:
    assert tools.sql("select * from no_rejects").columns[-3:] == ["reason", "ledger_block", "batch"]
    assert "tenant" in tools.sql("select * from no_rejects").columns
    columns = ["id", "version", "amount", "reason", "block", "batch"]
    assert tools.sql("select * from no_rejects_of_whole").columns == columns
    assert tools.rows("select * from no_rejects union all select * from no_rejects") == []


@pytest.fixture(scope="module")
def undone(tools, full: bool) -> DbtProject:
    """The project after a batch that was undone and whose block was folded again; in full, after one without rows."""
    if full:
        _fold(tools, "b5", "1, 1, false, 'stale', 1")
    _fold(tools, "b6", "3, 1, false, 'new', 60", "null, 6, false, 'bad', 61")
    assert operate(tools, "undo", model="orders", batch=6 if full else 5).success
    assert tools.rows("select count(*) from told_blocks where block = 'b6'") == [(0,)]
    tools.run("run", "--select", "orders")
    return tools


@dataclass
class Told:
    """What is told of the ledger once a batch was undone: its batches, its blocks and its rejects."""

    batches: list[tuple]
    blocks: list[tuple]
    aside: list[tuple]

    @property
    def last(self) -> int:
        """The number of the last batch."""
        return self.batches[-1][0]

    def check(self, project: DbtProject) -> None:
        """Compare with what the views show."""
        assert project.rows(HISTORY) == self.batches
        assert project.rows(BLOCKS) == self.blocks
        assert project.rows(REJECTS) == self.aside


@pytest.fixture(scope="module")
def told(full: bool) -> Told:
    """What the views must tell: the batch of b6 is 6 where b5 was folded before it, else 5."""
    first = 6 if full else 5
    batches = [(1, 1, 3, 2, 0, None), (2, 1, 3, 1, 1, None), (3, 1, 3, 1, 1, None), (4, 1, 1, 0, 1, None)]
    blocks = [("b1", 1, 3), ("b2", 2, 3), ("b3", 3, 3), ("b4", 4, 1)]
    if full:
        batches.append((5, 1, 1, 0, 0, None))
        blocks.append(("b5", 5, 1))
    batches += [(first, 1, 2, 1, 0, None), (first + 1, None, 0, 0, 1, first), (first + 2, 1, 2, 1, 0, None)]
    blocks.append(("b6", first + 2, 2))
    again = (None, 61, "b6", "null_key", "b6", first + 2)
    return Told(batches, blocks, [(None, 30, "b1", "null_key", "b1", 1), again, (1, 0, "b3", "null_version", "b3", 3)])


def test_views_of_a_ledger_follow_it_batch_by_batch(undone, told) -> None:
    told.check(undone)
    types = dict(undone.sql("select * from told_history").dtypes)
    assert types["batch"] == "int" and types["decisions"] == "map<string,bigint>" and types["finished_at"] == "timestamp"
    decided = "select decisions['tie'], seconds > 0, run_id is not null from told_history where batch = 2"
    assert undone.rows(decided) == [(1, True, True)]


@pytest.mark.only("parquet")  # writes partitions of its own
def test_what_a_killed_run_had_planned_is_not_told(undone, told) -> None:
    """A batch that was planned and never appended, and a merged manifest whose base was never written."""
    killed = told.last + 1
    block = f"('b8', 1L, {killed}, null, null, null, null, null, null, null, null, 'run', now())"
    batch = f"(null, 1L, {killed}, 1L, null, 1L, 0L, 0L, null, 1D, null, 'run', now())"
    bad = "(0, null, 1, false, 'bad', 99, 'b8', 'null_key', 'b8')"
    for table, values in (("manifest", f"{block}, {batch}"), ("rejects", bad)):
        undone.sql(f"insert overwrite tools.orders__{table} partition (ledger_batch = {killed}) values {values}")
    columns = undone.columns("tools.orders__manifest", without=["ledger_batch"])
    merged = f"select {columns} from tools.orders__manifest where ledger_batch <= {told.last}"
    undone.sql(f"create table tools.merged using parquet as {merged}")
    undone.sql(f"insert overwrite tools.orders__manifest partition (ledger_batch = {-told.last}) select * from tools.merged")
    told.check(undone)
    for table in ("rejects", "manifest"):
        undone.drop_batch(f"tools.orders__{table}", killed)


def test_views_of_a_ledger_stay_true_after_optimize(undone, told) -> None:
    undone.run("run", "--select", "sums")
    assert operate(undone, "optimize", model="orders").success
    assert undone.batches("orders") == [-told.last]
    told.check(undone)


def test_views_of_a_ledger_tell_what_a_full_refresh_has_folded(undone, told) -> None:
    undone.run("run", "--select", "orders", "--full-refresh")
    number = max(-batch for batch in undone.batches("orders"))
    blocks = undone.rows("select block, batch from told_blocks order by block")
    assert blocks == [(block, number) for block, *_ in told.blocks]
    assert undone.rows("select batch, count(*) from told_rejects group by batch") == [(number, 3)]
    assert undone.rows(HISTORY)[:-1] == told.batches, "what was done stays told"
    assert undone.rows("select max(batch), max_by(blocks, batch) from told_history") == [(number, len(told.blocks))]
