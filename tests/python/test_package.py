"""The package in a stranger's project: what it installs, what it refuses, and what a run reads and writes."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from dbt.adapters.spark.impl import SparkAdapter

from support.dbt_project import LEDGER, REPOSITORY, VIEW, Statements, model, nodes_of
from support.targets import PLAIN, TARGETS

pytestmark = pytest.mark.only(*(target for target in TARGETS if target != "s3"))  # looks at files

ORDERS = "id bigint, version int, is_deleted boolean, shop string, amount bigint, price decimal(38, 18), block string"

BY_SHOP = {
    "group_by": ["shop"],
    "measures": {
        "n": "count(*)",
        "amount": "sum(amount)",
        "mean": "avg(amount)",
        "price": "sum(price)",
        "mean_price": "avg(price)",
        "known": "count(amount)",
    },
}

UNIT_TESTS = """unit_tests:
  - name: rows_of_a_final
    model: doubled
    given: [{input: ref('orders'), rows: [{id: 1, amount: 3}, {id: 2, amount: 4}]}]
    expect: {rows: [{id: 1, twice: 6}, {id: 2, twice: 8}]}
  - name: groups_of_a_projection
    model: means
    given: [{input: ref('orders_by_shop'), format: sql, rows: "select 'north' as shop, 2.5D as mean"}]
    expect: {rows: [{shop: north, more: 3.5}]}
  - name: stage_of_a_ledger
    model: orders
    given: [{input: ref('stg_orders'), rows: [{id: 1, shop: north}]}]
    expect: {rows: [{id: 1, shop: north}]}
  - name: ledger_of_a_projection
    model: orders_by_shop
    given: [{input: ref('orders'), rows: [{id: 1, shop: north}]}]
    expect: {rows: [{id: 1, shop: north}]}
"""

FILES = {
    "models/stg_orders.sql": VIEW + "select * from shop.arrived",
    "models/orders.sql": model("ledger(ref('stg_orders'))", LEDGER),
    "models/orders_by_shop.sql": model("projection(ref('orders'))", BY_SHOP),
    "models/live_orders.sql": VIEW + "select * from {{ collapsing.final(ref('orders')) }}",
    "models/shops.sql": VIEW + "select * from {{ collapsing.final(ref('orders_by_shop')) }}",
    "models/stg_growing.sql": "select id, 1 as version, 5 as amount, named_struct('a', 1) as box, false as is_deleted, "
    "'b1' as block from values (1), (null) as t (id)",
    "models/growing.sql": "{{ config(on_schema_change='append_new_columns') }}\n"
    + model("ledger(ref('stg_growing'))", LEDGER | {"on_bad_rows": "reject"}),
    "models/live_growing.sql": VIEW + "select * from {{ collapsing.final(ref('growing')) }}",
    "models/as_of_one.sql": "select * from {{ collapsing.final(ref('orders'), as_of=1) }}",
    "models/as_of_none.sql": "select * from {{ collapsing.final(ref('orders'), as_of=0) }}",
    "models/after_one.sql": "select * from {{ collapsing.changes(ref('orders'), after=1) }}",
    "models/granted.sql": "{{ config(grants={'select': ['reader']}) }}\n" + model("ledger(ref('stg_orders'))", LEDGER),
    "models/doubled.sql": VIEW + "select id, 2 * amount as twice from {{ collapsing.final(ref('orders')) }}",
    "models/means.sql": VIEW + "select shop, mean + 1 as more from {{ collapsing.final(ref('orders_by_shop')) }}",
    "models/unit_tests.yml": UNIT_TESTS,
}
# What a block asks for once the views over it are there.
CHAIN = ["--select", "orders", "orders_by_shop"]
OF_BATCHES = ("as_of_one", "as_of_none", "after_one")
# Models for dbt's unit tests alone.
OF_UNIT_TESTS = ("doubled", "means")


@pytest.fixture(scope="module")
def shop(make_project):
    """A project with one ledger and one projection over a table of staged orders, two blocks of it folded."""
    project = make_project("shop", FILES)
    project.sql("create schema if not exists shop")
    project.sql(f"create table shop.arrived ({ORDERS}) using parquet")
    arrive(project, "monday", "(1, 0, false, 'north', 10, 1.5), (2, -1, false, null, null, null), (3, 1, false, 'south', 5, 0)")
    project.run("run", "--exclude", "granted", *OF_BATCHES, *OF_UNIT_TESTS)
    arrive(project, "tuesday", "(1, 1, false, 'north', 12, 1.000000000000000001), (3, 2, true, null, 99, 99)")
    project.run("run", *CHAIN, *OF_BATCHES)
    return project


def arrive(project, block: str, rows: str, columns: str = "id, version, is_deleted, shop, amount, price") -> None:
    """Append rows to the staged orders as one block."""
    project.sql(f"insert into shop.arrived ({columns}, block) select *, '{block}' from values {rows}")


def _batches(project) -> list[list[int]]:
    """Return the batches of the ledger and of its projection."""
    return [project.batches(table) for table in ("orders", "orders_by_shop")]


def test_only_the_macros_are_installed(shop) -> None:
    result = shop.invoke("ls", "--output", "name")
    tests = re.findall(r"- name: (\w+)", UNIT_TESTS)
    assert sorted(result.result) == sorted([*tests, *(Path(path).stem for path in FILES if path.endswith(".sql"))])


def test_final_and_merged_groups(shop) -> None:
    assert shop.rows("select * from live_orders order by id") == [
        (1, 1, "north", 12, Decimal("1.000000000000000001")),
        (2, -1, None, None, None),
    ]
    assert shop.rows("select * from shops order by shop") == [
        (None, 1, None, None, None, None, 0),
        ("north", 1, 12, 12.0, Decimal("1.000000000000000001"), Decimal("1.000000000000000001"), 1),
    ]
    assert dict(shop.sql("select * from shops").dtypes)["amount"] == "bigint"


def test_cancel_row_copies_the_stored_row_and_a_delete_leaves_a_tombstone(shop) -> None:
    assert shop.rows(
        f"select id, version, amount, ledger_sign, ledger_block from {shop.data('orders')} where ledger_batch = 2 order by 1, 4"
    ) == [
        (1, 0, 10, -1, "tuesday"),
        (1, 1, 12, 1, "tuesday"),
        (3, 1, 5, -1, "tuesday"),
        (3, 2, 99, 0, "tuesday"),
    ]


def test_state_after_an_earlier_batch(shop) -> None:
    assert shop.rows("select * from as_of_none") == []
    assert shop.rows("select id, amount from as_of_one order by id") == [(1, 10), (2, None), (3, 5)]
    assert shop.rows("select distinct ledger_batch from after_one") == [(2,)]


@pytest.mark.full
def test_a_run_without_news_takes_no_batch(shop) -> None:
    shop.run("run", *CHAIN)
    assert shop.visible("orders") == [0, 1, 2]
    assert shop.visible("orders_by_shop") == [-1, 2]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("docs generate --empty-catalog", marks=pytest.mark.full),
        "run --empty --select orders+1",
    ],
)
def test_commands_that_must_not_write(shop, command: str) -> None:
    if not shop.rows("select * from arrived where block = 'wednesday'"):
        arrive(shop, "wednesday", "(3, 3, false, 'south', 8, 8)")
    before = _batches(shop)
    shop.run(*command.split())
    assert _batches(shop) == before


def test_a_unit_test_of_dbt_gives_the_rows_that_macros_return(shop) -> None:
    """And leaves the block alone that has not been folded yet."""
    before = _batches(shop)
    assert set(shop.run("test", "--select", "test_type:unit").values()) == {"pass"}
    assert _batches(shop) == before


def test_compile_and_show_preview_the_rows_that_a_run_would_append(shop) -> None:
    before = _batches(shop)
    shop.run("compile", "--select", *CHAIN[1:])
    compiled = (shop.target / "compiled" / "shop" / "models" / "orders.sql").read_text()
    assert "classified as (" in compiled and "lateral view explode(" in compiled
    shown = shop.invoke("show", "--select", "orders", "--output", "json")
    assert shown.success
    assert _batches(shop) == before


def test_the_block_that_they_left_is_folded_by_the_next_run(shop) -> None:
    shop.run("run", *CHAIN, "live_orders")  # the view too: `run --empty` has left an empty one
    assert shop.rows(f"select batch, block from {shop.notes('orders', 'block')} where batch > 2") == [(3, "wednesday")]
    assert shop.rows("select amount from live_orders where id = 3") == [(8,)]


def test_a_replayed_block_is_a_batch_of_notes_and_is_not_read_again(shop) -> None:
    rows = "(1, 1, false, 'north', 12, 1.000000000000000001), (2, -1, false, null, null, null), (3, 1, false, 'south', 5, 0)"
    arrive(shop, "replay", rows)
    before = shop.rows("select count(id) from orders")
    shop.run("run", *CHAIN)
    assert shop.rows("select count(id) from orders") == before
    assert shop.visible("orders")[-1] == shop.visible("orders_by_shop")[-1] == 4
    decisions = shop.rows(f"select decisions from {shop.notes('orders', 'commit')} where batch = 4")
    assert decisions == [({"duplicate": 2, "stale": 1},)]
    assert shop.rows("select count(*) from shops") == [(3,)]


@pytest.mark.only(*PLAIN)
def test_files_that_no_partition_names_are_not_read(shop, spark) -> None:
    """As a killed run leaves them in the folder of the table."""
    torn = _location(shop, "orders") / "ledger_batch=5"
    spark.sql("select * from shop.orders where ledger_batch = 1").drop("ledger_batch").write.parquet(str(torn))
    arrive(shop, "thursday", "(4, 1, false, 'west', 7, 7)")
    shop.run("run", *CHAIN)
    assert shop.rows(f"select id, ledger_sign from {shop.data('orders')} where ledger_batch = 5") == [(4, 1)]
    assert ("west", 1, 7, 7.0, Decimal(7), Decimal(7), 1) in shop.rows("select * from shops")


def _location(project, table: str) -> Path:
    rows = dict(row[:2] for row in project.rows(f"describe extended shop.{table}"))
    return Path(rows["Location"].removeprefix("file:"))


def test_a_projection_opens_only_new_batches(shop) -> None:
    """The files of old batches are hidden: reading one of them would fail."""
    hidden, last = [], shop.visible("orders")[-1]
    arrive(shop, "friday", "(5, 1, false, 'south', 3, 3)")
    shop.run("run", "--select", "orders")
    [empty] = nodes_of(shop.invoke("run", "--empty", "--select", "orders_by_shop"))
    assert empty.message == "no new batches", "with --empty it reads none"
    files = shop.rows(f"select distinct input_file_name() from orders where ledger_batch <= {last}")
    try:
        for (name,) in files:
            file = Path(unquote(urlparse(name).path))
            hidden.append(file.rename(file.with_suffix(".hidden")))
        shop.run("run", "--select", "orders_by_shop")
    finally:
        for file in hidden:
            file.rename(file.with_suffix(".parquet"))
    assert hidden
    assert ("south", 2, 11, 5.5, Decimal(11), Decimal("5.5"), 2) in shop.rows("select * from shops")


@pytest.mark.full
def test_a_changed_projection_builds_itself_again(shop) -> None:
    changed = BY_SHOP | {"measures": BY_SHOP["measures"] | {"mean": "avg(amount / 2)"}}
    shop.write("models/orders_by_shop.sql", model("projection(ref('orders'))", changed))
    shop.run("run", "--select", "orders_by_shop", "shops")
    assert ("south", 2, 11, 2.75, Decimal(11), Decimal("5.5"), 2) in shop.rows("select * from shops")
    assert shop.visible("orders_by_shop") == [-shop.visible("orders")[-1]]


@pytest.mark.full
def test_a_state_older_than_a_ledger_that_was_folded_anew_is_refused(shop) -> None:
    expected, last = sorted(shop.rows("select * from shops"), key=str), shop.visible("orders")[-1]
    shop.run("run", "--full-refresh", "--select", "orders")
    shop.run("run", "--select", "orders_by_shop")
    assert shop.visible("orders") == shop.visible("orders_by_shop") == [-last - 1]
    assert sorted(shop.rows("select * from shops"), key=str) == expected
    assert "final has no state as_of=1: orders was optimized or rebuilt later" in shop.fails("run", "--select", "as_of_one")
    (shop.directory / "models" / "as_of_one.sql").unlink()


@pytest.mark.full
def test_a_model_of_ones_own_joins_changes_to_a_dimension(shop) -> None:
    """The model is the one that docs/analyst_sql.md shows."""
    page = (REPOSITORY / "docs" / "analyst_sql.md").read_text().split("## Joined to a dimension")[1]
    shop.write("models/by_region.sql", page.split("```sql\n")[1].split("```")[0].replace("orders_ledger", "orders"))
    shop.write("models/dim_shops.sql", VIEW + "select * from values ('north', 'cold'), ('south', 'warm') as t (shop, region)")
    for block, rows in {"regions 1": "(8, 1, false, 'south', 3, 0)", "regions 2": "(8, 2, false, 'north', 4, 0)"}.items():
        arrive(shop, block, rows)
        shop.run("run", "--select", "orders", "dim_shops", "by_region")
        summed = "select region, sum(orders), sum(amount) from by_region group by region having sum(orders) > 0 order by region"
        joined = "select region, count(*), sum(amount) from live_orders inner join dim_shops using (shop) group by 1 order by 1"
        assert shop.rows(summed) == shop.rows(joined)
    assert shop.rows("select count(distinct upto) from by_region") == [(2,)]
    for name in ("by_region", "dim_shops"):
        (shop.directory / f"models/{name}.sql").unlink()


@pytest.mark.full
def test_integers_at_the_edge_sum_exactly_and_overflow_is_an_error(shop) -> None:
    least, greatest = -(2**63), 2**63 - 1
    arrive(shop, "edge 1", f"(6, 1, false, 'edge', {least}L, 0)".replace(f"{least}L", f"cast('{least}' as bigint)"))
    shop.run("run", *CHAIN)
    arrive(shop, "edge 2", f"(6, 2, false, 'edge', {greatest}L, 0)")
    shop.run("run", *CHAIN)
    assert shop.rows("select amount from shops where shop = 'edge'") == [(greatest,)]
    arrive(shop, "edge 3", "(7, 1, false, 'edge', 1L, 0)")
    shop.run("run", *CHAIN)
    with pytest.raises(Exception, match="projection 'orders_by_shop': measure 'amount' does not fit its type"):
        shop.rows("select amount from shops where shop = 'edge'")


def test_grants_are_asked_for_once_the_batch_is_committed(shop) -> None:
    """Spark without an authorizer has none; as with any model of dbt, the run then ends with Spark's own error."""
    statements = Statements("model.shop.granted")
    result = shop.invoke("run", "--select", "granted", callbacks=[statements])
    assert not result.success and statements.heard[-1] == "grant select on shop.granted to `reader`"
    assert shop.visible("granted") == [0, 1]


def test_a_table_that_dbt_has_not_found_is_not_taken_for_new(shop, monkeypatch) -> None:
    """dbt-spark before 1.11 takes a failed listing for a schema without tables; or another run has created the table since."""
    before, live = _batches(shop), shop.rows("select * from live_orders order by id")
    monkeypatch.setattr(SparkAdapter, "list_relations_without_caching", lambda *_: [])
    shop.invoke("run", *CHAIN)
    assert _batches(shop) == before
    assert shop.rows("select * from live_orders order by id") == live


def test_a_changed_stage_is_refused(shop) -> None:
    changed = "select id, version, is_deleted, shop, block, cast(amount as string) as amount, 1 as extra from shop.arrived"
    shop.write("models/stg_orders.sql", VIEW + changed)
    said = shop.fails("run", "--select", "stg_orders", "orders")
    assert "model 'orders'" in said
    assert all(
        change in said
        for change in ("'extra' is not in the ledger", "'price' is gone from the stage", "'amount' was bigint and is string")
    )
    shop.write("models/stg_orders.sql", FILES["models/stg_orders.sql"])


def test_other_rules_than_those_that_the_rows_were_folded_by_are_refused(shop) -> None:
    before = shop.rows("select count(*) from orders")
    settings = {"key": ["id", "shop"], "version": "amount", "deletes": "unversioned", "block": "shop"}
    shop.write("models/orders.sql", model("ledger(ref('stg_orders'))", LEDGER | settings))
    said = " ".join(shop.fails("run", "--select", "orders").split())
    for change in (
        '\'key\' was ["id"] and is ["id", "shop"]',
        "'version' was",
        "'deletes' was",
        '\'block\' was "block as text" and is "shop as text"',
    ):
        assert change in said
    shop.write("models/orders.sql", model("ledger(ref('stg_orders'))", LEDGER | {"key": "ID"}))  # the same column
    shop.run("run", "--select", "stg_orders", "orders")
    assert shop.rows("select count(*) from orders") == before
    shop.write("models/orders.sql", FILES["models/orders.sql"])


def test_a_column_that_widens_and_a_struct_that_gets_a_field_stop_a_run(shop) -> None:
    """And a new column beside them, which the ledger may add, is not added."""
    wide = "1 as id, 2 as version, 5L as amount, named_struct('a', 1, 'b', 2) as box, 'red' as colour"
    shop.write("models/stg_growing.sql", f"select {wide}, false as is_deleted, 'b2' as block")
    said = shop.fails("run", "--select", "stg_growing", "growing")
    for change in ("'amount' was int and is bigint", "'box' was struct<a:int> and is struct<a:int,b:int>"):
        assert change in said
    assert "colour" not in shop.sql("select * from growing").columns


def test_a_new_column_is_added_where_on_schema_change_allows_it(shop) -> None:
    """Beside one that has widened since, which the stage casts, as it makes a column of a struct's new field."""
    shop.write(
        "models/stg_growing.sql",
        "select id, version, colour, cast(amount as int) as amount, amount_wide, named_struct('a', 1) as box, box_b, "
        "false as is_deleted, 'b2' as block from values (1, 2, 'red', null, 5000000000, 2), (2, 1, 'blue', 7L, null, 3), "
        "(null, 1, 'grey', null, null, null) as t (id, version, colour, amount, amount_wide, box_b)",
    )
    by_colour = {"group_by": ["colour"], "measures": {"n": "count(colour)"}}
    shop.write("models/growing_by_colour.sql", model("projection(ref('growing'))", by_colour))
    shop.run("run", "--select", "stg_growing")
    shop.run("compile", "--select", "growing")
    compiled = (shop.target / "compiled/shop/models/growing.sql").read_text()
    assert "yet: what a run appends is shown once it has" in compiled and "select * from shop." in compiled
    shop.run("run", "--select", "growing+")
    live = "select id, version, colour, coalesce(amount_wide, amount), box.a, box_b from live_growing order by id"
    assert shop.rows(live) == [(1, 2, "red", 5_000_000_000, 1, 2), (2, 1, "blue", 7, 1, 3)]
    assert shop.rows("select version, colour, ledger_sign from growing where id = 1 order by ledger_batch, ledger_sign") == [
        (1, None, 1),
        (1, None, -1),
        (2, "red", 1),
    ]
    rejects = f"select get_json_object(`row`, '$.colour'), batch from {shop.notes('growing', 'reject')} order by batch"
    assert shop.rows(rejects) == [(None, 1), ("grey", 2)]
