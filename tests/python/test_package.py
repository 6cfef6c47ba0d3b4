"""The package in a stranger's project: what it installs, what it refuses, and what a run reads and writes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest
from conftest import REPOSITORY
from dbt_project import VIEW, model, nodes_of

ORDERS = "id bigint, version int, is_deleted boolean, shop string, amount bigint, price decimal(38, 18), block string"

LEDGER = {"key": "id", "version": "version", "is_deleted": "is_deleted", "block": "block"}
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


FILES = {
    "models/stg_orders.sql": VIEW + "select * from shop.arrived",
    "models/orders.sql": model("ledger(ref('stg_orders'))", LEDGER),
    "models/orders_by_shop.sql": model("projection(ref('orders'))", BY_SHOP),
    "models/live_orders.sql": VIEW + "select * from {{ collapsing.final(ref('orders')) }}",
    "models/shops.sql": VIEW + "select * from {{ collapsing.final(ref('orders_by_shop')) }}",
}
CHAIN = ["--select", "stg_orders+"]


@pytest.fixture(scope="module")
def shop(make_project):
    """A project with one ledger and one projection over a table of staged orders, three blocks of it folded."""
    project = make_project("shop", FILES)
    project.sql("create schema if not exists shop")
    project.sql(f"create table shop.arrived ({ORDERS}) using parquet")
    arrive(project, "monday", "(1, 0, false, 'north', 10, 1.5), (2, -1, false, null, null, null), (3, 1, false, 'south', 5, 0)")
    project.run("run", *CHAIN)
    arrive(project, "tuesday", "(1, 1, false, 'north', 12, 1.000000000000000001), (3, 2, true, null, 99, 99)")
    project.run("run", *CHAIN)
    return project


def arrive(project, block: str, rows: str, columns: str = "id, version, is_deleted, shop, amount, price") -> None:
    """Append rows to the staged orders as one block."""
    project.sql(f"insert into shop.arrived ({columns}, block) select *, '{block}' from values {rows}")


def batches(project, table: str) -> list[str]:
    return [row[0] for row in project.rows(f"show partitions shop.{table}")]


def test_only_the_macros_are_installed(shop) -> None:
    result = shop.invoke("ls", "--output", "name")
    assert sorted(result.result) == ["live_orders", "orders", "orders_by_shop", "shops", "stg_orders"]


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
        "select id, version, amount, ledger_sign, ledger_block from orders where ledger_batch = 2 order by 1, 4"
    ) == [
        (1, 0, 10, -1, "tuesday"),
        (1, 1, 12, 1, "tuesday"),
        (3, 1, 5, -1, "tuesday"),
        (3, 2, 99, 0, "tuesday"),
    ]


def test_state_after_an_earlier_batch(shop) -> None:
    shop.write("models/as_of_one.sql", "select * from {{ collapsing.final(ref('orders'), as_of=1) }}")
    shop.write("models/as_of_none.sql", "select * from {{ collapsing.final(ref('orders'), as_of=0) }}")
    shop.write("models/after_one.sql", "select * from {{ collapsing.changes(ref('orders'), after=1) }}")
    shop.run("run", "--select", "as_of_one", "as_of_none", "after_one")
    assert shop.rows("select * from as_of_none") == []
    assert shop.rows("select id, amount from as_of_one order by id") == [(1, 10), (2, None), (3, 5)]
    assert shop.rows("select distinct ledger_batch from after_one") == [(2,)]


def test_a_run_without_news_takes_no_batch(shop) -> None:
    shop.run("run", *CHAIN)
    assert batches(shop, "orders") == ["ledger_batch=1", "ledger_batch=2"]
    assert batches(shop, "orders_by_shop") == ["ledger_batch=1", "ledger_batch=2"]


@pytest.mark.parametrize("command", ["compile", "docs generate", "show --select orders", "test", "run --empty"])
def test_commands_that_must_not_write(shop, command: str) -> None:
    if not shop.rows("select * from arrived where block = 'wednesday'"):
        arrive(shop, "wednesday", "(3, 3, false, 'south', 8, 8)")
    before = [batches(shop, table) for table in ("orders", "orders__blocks", "orders_by_shop")]
    shop.run(*command.split())
    assert [batches(shop, table) for table in ("orders", "orders__blocks", "orders_by_shop")] == before


def test_the_block_that_they_left_is_folded_by_the_next_run(shop) -> None:
    shop.run("run", *CHAIN)
    noted = shop.rows("select ledger_batch, block from orders__blocks where ledger_batch > 2 order by block")
    assert noted == [(3, None), (3, "wednesday")]
    assert shop.rows("select amount from live_orders where id = 3") == [(8,)]


def test_a_replayed_block_is_a_batch_without_rows_and_is_not_read_again(shop) -> None:
    arrive(shop, "replay", "(1, 1, false, 'north', 12, 1.000000000000000001), (3, 1, false, 'south', 5, 0)")
    before = shop.rows("select count(*) from orders")
    shop.run("run", *CHAIN)
    assert shop.rows("select count(*) from orders") == before
    assert batches(shop, "orders")[-1] == "ledger_batch=4"
    shop.run("run", *CHAIN)
    assert batches(shop, "orders")[-1] == "ledger_batch=4"
    assert shop.rows("select count(*) from shops") == [(3,)]


def test_files_of_a_killed_run_are_not_read(shop, spark) -> None:
    """What a kill leaves before the partition is registered: a note of the blocks taken, and files in the folder."""
    torn = _location(shop, "orders") / "ledger_batch=5"
    spark.sql("select * from shop.orders where ledger_batch = 1").drop("ledger_batch").write.parquet(str(torn))
    note = "'thursday', 1L, 5, null, null, null, 'killed', current_timestamp()"
    shop.sql(f"insert overwrite shop.orders__blocks partition (ledger_batch = 5) select {note}")
    arrive(shop, "thursday", "(4, 1, false, 'west', 7, 7)")
    shop.run("run", *CHAIN)
    assert shop.rows("select id, ledger_sign from orders where ledger_batch = 5") == [(4, 1)]
    assert ("west", 1, 7, 7.0, Decimal(7), Decimal(7), 1) in shop.rows("select * from shops")


def _location(project, table: str) -> Path:
    rows = dict(row[:2] for row in project.rows(f"describe extended shop.{table}"))
    return Path(rows["Location"].removeprefix("file:"))


def test_a_projection_opens_only_new_batches(shop) -> None:
    """The files of old batches are hidden: reading one of them would fail."""
    location, hidden = _location(shop, "orders"), []
    shop.run("run", *CHAIN)
    arrive(shop, "friday", "(5, 1, false, 'west', 3, 3)")
    shop.run("run", "--select", "stg_orders", "orders")
    try:
        for file in location.glob("ledger_batch=[1-5]/*.parquet"):
            hidden.append(file.rename(file.with_suffix(".hidden")))
        shop.run("run", "--select", "orders_by_shop")
    finally:
        for file in hidden:
            file.rename(file.with_suffix(".parquet"))
    assert hidden
    assert ("west", 2, 10, 5.0, Decimal(10), Decimal(5), 2) in shop.rows("select * from shops")


def test_a_changed_projection_builds_itself_again(shop) -> None:
    changed = BY_SHOP | {"measures": BY_SHOP["measures"] | {"mean": "avg(amount * 2)"}}
    shop.write("models/orders_by_shop.sql", model("projection(ref('orders'))", changed))
    shop.run("run", "--select", "orders_by_shop", "shops")
    assert ("west", 2, 10, 10.0, Decimal(10), Decimal(5), 2) in shop.rows("select * from shops")
    assert batches(shop, "orders_by_shop") == ["ledger_batch=6"]


def test_a_rebuilt_ledger_makes_its_projections_build_themselves_again(shop) -> None:
    expected = sorted(shop.rows("select * from shops"), key=str)
    shop.run("run", "--full-refresh", "--select", "orders")
    assert batches(shop, "orders") == ["ledger_batch=7"], "numbers of the ledger's earlier life are not used again"
    shop.run("run", "--select", "orders_by_shop")
    assert batches(shop, "orders_by_shop") == ["ledger_batch=7"]
    assert sorted(shop.rows("select * from shops"), key=str) == expected


def test_a_state_older_than_the_rebuilt_ledger_is_refused(shop) -> None:
    said = shop.fails("run", "--select", "as_of_one")
    assert "final has no state as_of=1: orders was built later, and holds the states after batches 7 to 7" in " ".join(
        said.split()
    )
    (shop.directory / "models" / "as_of_one.sql").unlink()


def test_a_model_of_ones_own_joins_changes_to_a_dimension(shop) -> None:
    """The model is the one that docs/analyst_sql.md shows."""
    page = (REPOSITORY / "docs" / "analyst_sql.md").read_text().split("## Joined to a dimension")[1]
    shop.write("models/by_region.sql", page.split("```sql\n")[1].split("```")[0])
    shop.write("models/dim_shops.sql", VIEW + "select * from values ('north', 'cold'), ('south', 'warm') as t (shop, region)")
    for block, rows in {"regions 1": "(8, 1, false, 'south', 3, 0)", "regions 2": "(8, 2, false, 'north', 4, 0)"}.items():
        arrive(shop, block, rows)
        shop.run("run", *CHAIN, "dim_shops")
        summed = "select region, sum(orders), sum(amount) from by_region group by region having sum(orders) > 0 order by region"
        joined = "select region, count(*), sum(amount) from live_orders inner join dim_shops using (shop) group by 1 order by 1"
        assert shop.rows(summed) == shop.rows(joined)
    assert len(batches(shop, "by_region")) == 2
    for name in ("by_region", "dim_shops"):
        (shop.directory / f"models/{name}.sql").unlink()


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


def test_a_changed_stage_is_refused(shop) -> None:
    shop.write("models/stg_orders.sql", VIEW + "select *, 1 as extra from shop.arrived")
    said = shop.fails("run", "--select", "stg_orders", "orders")
    assert "model 'orders'" in said and "'extra' is new in the stage" in said
    shop.write(
        "models/stg_orders.sql",
        VIEW + "select * except (amount, price), cast(amount as string) as amount from shop.arrived",
    )
    said = shop.fails("run", "--select", "stg_orders", "orders")
    assert "'price' is gone from the stage" in said and "'amount' was bigint and is string" in said
    shop.write("models/stg_orders.sql", FILES["models/stg_orders.sql"])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"key": ["id", "shop"]}, '\'key\' was ["id"] and is ["id", "shop"]'),
        ({"version": "amount"}, "'version' was"),
        ({"deletes": "unversioned"}, "'deletes' was"),
        ({"engine": "collapsing", "order_by": "version"}, "'engine' was"),
    ],
)
def test_other_rules_than_those_that_the_rows_were_folded_by_are_refused(shop, changed: dict, said: str) -> None:
    settings = LEDGER | changed
    if "engine" in changed:
        del settings["version"]
    before = shop.rows("select count(*) from orders")
    shop.write("models/orders.sql", model("ledger(ref('stg_orders'))", settings))
    assert said in " ".join(shop.fails("run", "--select", "orders").split())
    shop.write("models/orders.sql", FILES["models/orders.sql"])
    shop.run("run", *CHAIN)
    assert shop.rows("select count(*) from orders") == before


def test_a_new_column_is_added_where_on_schema_change_allows_it(make_project) -> None:
    settings = "on_schema_change='append_new_columns', meta={'collapsing': " + repr(LEDGER | {"on_bad_rows": "reject"}) + "}"
    project = make_project(
        "growing",
        {
            "models/stage.sql": "select 1 as id, 1 as version, false as is_deleted, 'b1' as block union all "
            "select null, 1, false, 'b1'",
            "models/kept.sql": f"{{{{ config({settings}) }}}}\n{{{{ collapsing.ledger(ref('stage')) }}}}",
            "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('kept')) }}",
        },
    )
    project.run("run")
    project.write(
        "models/stage.sql",
        "select * from values (1, 2, 'red', false, 'b2'), (2, 1, 'blue', false, 'b2'), (null, 1, 'grey', false, 'b2') "
        "as t (id, version, colour, is_deleted, block)",
    )
    project.run("run")
    assert project.rows("select id, version, colour from live order by id") == [(1, 2, "red"), (2, 1, "blue")]
    assert project.rows("select version, colour, ledger_sign from kept where id = 1 order by ledger_batch, ledger_sign") == [
        (1, None, 1),
        (1, None, -1),
        (2, "red", 1),
    ]
    assert project.rows("select colour, ledger_batch from kept__rejects order by ledger_batch") == [(None, 1), ("grey", 2)]


BAD_ROWS = {
    "null_key": "(null, 1, false, 'a', 1, 1)",
    "null_version": "(11, null, false, 'a', 1, 1)",
    "bad_sign": "(12, 1, null, 'a', 1, 1)",
}


@pytest.fixture(scope="module")
def bad_rows(make_project):
    """Ledgers over one stage each that holds a good block and a bad row; gives (project, what dbt said)."""
    files = {}
    for reason, row in BAD_ROWS.items():
        files[f"models/stg_{reason}.sql"] = (
            "{{ config(materialized='view') }}\n"
            f"select cast(col1 as bigint) as id, cast(col2 as int) as version, cast(col3 as boolean) as is_deleted, "
            f"cast(col7 as string) as block from values (10, 1, false, 'a', 1, 1, 'good'), {row[:-1]}, 'it''s bad')"
        )
        files[f"models/{reason}.sql"] = model(f"ledger(ref('stg_{reason}'))", LEDGER)
    files["models/stg_null_block.sql"] = VIEW + "select 1 as id, 1 as version, false as is_deleted, cast(null as string) as block"
    files["models/null_block.sql"] = model("ledger(ref('stg_null_block'))", LEDGER)
    project = make_project("bad_rows", files)
    return project, project.fails("run")


@pytest.mark.parametrize("reason", [*BAD_ROWS, "null_block"])
def test_bad_rows_stop_the_run_before_anything_is_appended(bad_rows, reason: str) -> None:
    project, said = bad_rows
    assert f"model '{reason}': bad rows in" in said
    assert f"{reason}: 1 rows, for example" in said
    if reason != "null_block":
        assert "in block it's bad" in said
    assert reason not in [row[1] for row in project.rows("show tables in bad_rows")]
    assert f"{reason}__blocks" not in [row[1] for row in project.rows("show tables in bad_rows")]


@pytest.fixture(scope="module")
def rejecting(make_project):
    """A ledger that sets bad rows aside, over a table of staged rows with one bad block; gives the project."""
    project = make_project(
        "rejecting",
        {
            "models/stage.sql": VIEW + "select * from rejecting.arrived",
            "models/kept.sql": model("ledger(ref('stage'))", LEDGER | {"on_bad_rows": "reject"}),
            "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('kept')) }}",
            "models/decided.sql": "select decision, block from {{ collapsing.decisions(ref('kept'), ref('stage')) }}",
        },
    )
    project.sql("create schema if not exists rejecting")
    project.sql("create table rejecting.arrived (id bigint, version int, is_deleted boolean, amount bigint, block string)")
    project.sql(
        "insert into rejecting.arrived values (1, 1, false, 10, 'b1'), (null, 1, false, 11, 'b1'), (null, null, null, 12, 'b1')"
    )
    project.run("run")
    return project


REJECTS = "select amount, ledger_reason, ledger_block, ledger_batch from kept__rejects order by amount"


def test_bad_rows_can_be_set_aside(rejecting) -> None:
    assert rejecting.rows("select * from live") == [(1, 1, 10)]
    aside = [(11, "null_key", "b1", 1), (12, "null_key", "b1", 1)]
    assert rejecting.rows(REJECTS) == aside
    decided = "select decision, count(*) from decided where block = 'b1' group by decision order by decision"
    assert rejecting.rows(decided) == [("applied", 1), ("null_key", 2)]
    # what a killed run has set aside under the next number is dropped by a run that finds nothing bad
    torn = "null, 1, false, 9L, 'b9', 'null_key', 'b9'"
    rejecting.sql(f"insert overwrite rejecting.kept__rejects partition (ledger_batch = 2) values ({torn})")
    rejecting.sql("insert into rejecting.arrived values (2, 1, false, 20, 'b2')")
    rejecting.run("run")
    assert rejecting.rows(REJECTS) == aside
    # and overwritten by one that does; staged again under a token of its own, a mended row is folded
    rejecting.sql("insert into rejecting.arrived values (null, 1, false, 30, 'b3'), (3, 1, false, 11, 'b3')")
    result = rejecting.invoke("run")
    assert result.success
    assert rejecting.rows(REJECTS) == [*aside, (30, "null_key", "b3", 3)]
    assert rejecting.rows("select id, amount from live order by id") == [(1, 10), (2, 20), (3, 11)]


def test_a_row_without_a_token_cannot_be_set_aside(rejecting) -> None:
    rejecting.sql("insert into rejecting.arrived values (7, 1, false, 70, null), (null, 1, false, 71, 'b4')")
    said = rejecting.fails("run", "--select", "kept")
    assert "null_block: 1 rows" in said and "null_key" not in said
    assert rejecting.rows("select count(*) from kept__rejects where ledger_batch = 4") == [(0,)]


WRONG_SETTINGS = {
    "no_settings": ("ledger(ref('stage'))", {}, "a ledger needs settings"),
    "unknown": ("ledger(ref('stage'))", LEDGER | {"keys": "id"}, "unknown setting 'keys'; allowed: engine, key, version"),
    "no_key": ("ledger(ref('stage'))", {"version": "version"}, "setting 'key' must be a column or a list of columns"),
    "no_version": ("ledger(ref('stage'))", {"key": "id"}, "setting 'version' must be a column"),
    "wrong_engine": (
        "ledger(ref('stage'))",
        LEDGER | {"engine": "merge"},
        "setting 'engine' must be one of: versioned_collapsing",
    ),
    "wrong_key": ("ledger(ref('stage'))", LEDGER | {"key": ["id", 7]}, "setting 'key' must be a column or a list"),
    "key_twice": ("ledger(ref('stage'))", LEDGER | {"key": ["id", "id"]}, "a list of different columns"),
    "no_such_column": ("ledger(ref('stage'))", LEDGER | {"key": "order_id"}, "setting 'key' must be a column of the stage"),
    "two_deletes": ("ledger(ref('stage'))", LEDGER | {"sign": "sign"}, "'sign' and 'is_deleted' both say"),
    "wrong_deletes": (
        "ledger(ref('stage'))",
        LEDGER | {"deletes": "never"},
        "must be one of: versioned, unversioned; given: never",
    ),
    "undeletable": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "deletes": "unversioned"},
        "needs 'sign' or 'is_deleted'",
    ),
    "combined_key": ("ledger(ref('stage'))", LEDGER | {"combine": {"id": "old.id"}}, "cannot merge 'id'"),
    "wrong_combine": ("ledger(ref('stage'))", LEDGER | {"combine": ["id"]}, "setting 'combine' must be a mapping"),
    "deduplicated": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "deduplicating", "version": "version"},
        "says nothing to the engine",
    ),
    "unordered": ("ledger(ref('stage'))", {"key": "id", "engine": "collapsing"}, "setting 'order_by' must be a column"),
    "unordered_winner": ("ledger(ref('stage'))", {"key": "id", "engine": "replacing"}, "setting 'order_by' must be a column"),
    "versioned_arrival": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "collapsing", "order_by": "version", "version": "version"},
        "setting 'version' says nothing to the engine collapsing",
    ),
    "unsigned": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "input": "signed"},
        "setting 'sign' must be a column (the engine versioned_collapsing with input: signed needs it",
    ),
    "signed_deletes": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "input": "signed", "sign": "sign", "deletes": "unversioned"},
        "setting 'deletes' says nothing to the engine versioned_collapsing with input: signed",
    ),
    "signed_replacing": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "replacing", "version": "version", "input": "signed", "sign": "sign"},
        "replacing has no cancel rows",
    ),
    "rejecting_whole": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "on_bad_rows": "reject"},
        "setting 'on_bad_rows: reject' needs 'block'",
    ),
    "partitioned": ("ledger(ref('stage'))", LEDGER | {"partition_by": "day"}, "setting 'partition_by' says nothing"),
    "combined_again": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "collapsing", "order_by": "version", "combine": {"day": "old.day"}},
        "setting 'combine' of the engine collapsing needs 'block'",
    ),
    "our_column": ("ledger(ref('our_names'))", LEDGER, "'ledger_sign' begins with ledger_"),
    "no_stage": ("ledger(ref('floating'))", LEDGER, "must be a table or a view that exists"),
    "no_measures": ("projection(ref('good'))", {"group_by": ["shop"]}, "needs 'group_by' and 'measures'"),
    "wrong_measure": ("projection(ref('good'))", {"group_by": [], "measures": {"x": "median(id)"}}, "given: median(id)"),
    "two_in_one": (
        "projection(ref('good'))",
        {"group_by": [], "measures": {"x": "sum(id) + sum(id)"}},
        "given: sum(id) + sum(id)",
    ),
    "same_name": (
        "projection(ref('good'))",
        {"group_by": ["id"], "measures": {"id": "sum(id)"}},
        "names both a group and a measure",
    ),
    "our_name": ("projection(ref('good'))", {"group_by": [], "measures": {"ledger_x": "sum(id)"}}, "begins with ledger_"),
    "of_winners": (
        "projection(ref('winners'))",
        {"group_by": [], "measures": {"n": "count(*)"}},
        "the ledger 'winners' has the engine replacing: it has no cancel rows",
    ),
    "of_sums": (
        "projection(ref('sums'))",
        {"group_by": [], "measures": {"n": "count(*)"}},
        "'sums' is a projection",
    ),
    "of_stage": ("projection(ref('stage'))", {"group_by": [], "measures": {"n": "count(*)"}}, "'stage' is none"),
    "no_number": ("projection(ref('good'))", {"group_by": [], "measures": {"x": "sum(day)"}}, "adds values of type date"),
}


@pytest.fixture(scope="module")
def wrong_settings(make_project):
    """A project with one wrong model each; gives {model: what dbt said}."""
    stage = "1 as id, 1 as version, false as is_deleted, 1 as sign, date'2013-01-01' as day, 'b' as block"
    files = {
        "models/stage.sql": f"{{{{ config(materialized='view') }}}}\nselect {stage}",
        "models/winners.sql": model("ledger(ref('stage'))", {"key": "id", "engine": "replacing", "version": "version"}),
        "models/sums.sql": model("projection(ref('good'))", {"group_by": [], "measures": {"n": "count(*)"}}),
        "models/no_partitions.sql": "select * from {{ collapsing.final(ref('winners'), across_partitions=false) }}",
        "models/decided_sums.sql": "select * from {{ collapsing.decisions(ref('sums'), ref('stage')) }}",
        "models/our_names.sql": f"{{{{ config(materialized='view') }}}}\nselect {stage}, 1 as ledger_sign",
        "models/floating.sql": f"{{{{ config(materialized='ephemeral') }}}}\nselect {stage}",
        "models/good.sql": model("ledger(ref('stage'))", LEDGER),
        "models/no_final.sql": "select * from {{ collapsing.final(ref('stage')) }}",
        "models/wrong_as_of.sql": "select * from {{ collapsing.final(ref('good'), as_of='monday') }}",
        "models/wrong_after.sql": "select * from {{ collapsing.changes(ref('good'), after='monday') }}",
    }
    files |= {f"models/{name}.sql": model(body, settings) for name, (body, settings, _) in WRONG_SETTINGS.items()}
    project = make_project("wrong_settings", files)
    result = project.invoke("run")
    return {node.node.name: str(node.message) for node in nodes_of(result) if str(node.status) == "error"}


@pytest.mark.parametrize("name", WRONG_SETTINGS)
def test_a_wrong_setting_is_an_error_that_names_model_and_setting(wrong_settings, name: str) -> None:
    assert f"collapsing: model '{name}'" in wrong_settings[name]
    assert WRONG_SETTINGS[name][2] in " ".join(wrong_settings[name].split())


def test_final_and_changes_refuse_what_they_cannot_read(wrong_settings) -> None:
    assert "model 'stage': final needs a model with settings" in wrong_settings["no_final"]
    assert "as_of must be a batch number; given: monday" in wrong_settings["wrong_as_of"]
    assert "changes needs 'after'" in wrong_settings["wrong_after"]
    assert "this is a ledger without the setting 'partition_by'" in wrong_settings["no_partitions"]
    assert "decisions needs a ledger and its stage; this is a projection" in wrong_settings["decided_sums"]


def test_every_type_can_be_a_key_and_any_text_a_token(make_project, spark) -> None:
    """Values that could end a literal, look like another value, or sort unlike their text."""
    texts = ["", " ", "a", "A", "it's", 'say "x"', "back\\slash", "line\nbreak", "%s {{ x }}", "é", "e\u0301", "\U0001f600"]
    rows = [
        (
            text,
            dt.date(2013, 1, 1) + dt.timedelta(days=400 * number),
            dt.datetime(2013, 11, 3, 1, 30, tzinfo=dt.timezone.utc) + dt.timedelta(hours=number, microseconds=number),
            Decimal(number - 6).scaleb(-18),
            bytes([number, 0, 255]),
            float(number) - 0.5,
            number % 2 == 0,
            number - 6,
        )
        for number, text in enumerate(texts)
    ]
    key = ["text", "day", "moment", "price", "raw", "ratio", "flag", "small"]
    schema = (
        "text string, day date, moment timestamp, price decimal(38, 18), raw binary, ratio double, flag boolean, small tinyint"
    )
    project = make_project(
        "types",
        {
            "models/stage.sql": VIEW + "select * from types.arrived",
            "models/keyed.sql": model("ledger(ref('stage'))", {"key": key, "version": "version", "block": "token"}),
            "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('keyed')) }}",
        },
    )
    project.sql("create schema if not exists types")
    for version in (1, 2):
        frame = spark.createDataFrame(rows, schema).selectExpr(
            "*", f"{version} as version", f"concat(text, '{version}') as token"
        )
        frame.write.mode("append").saveAsTable("types.arrived")
        project.run("run")
    project.run("run")
    assert project.rows("select version, count(*) from live group by version") == [(2, len(rows))]
    assert project.rows("select ledger_batch, ledger_sign, count(*) from keyed group by 1, 2 order by 1, 2") == [
        (1, 1, len(rows)),
        (2, -1, len(rows)),
        (2, 1, len(rows)),
    ]


def test_only_unread_files_are_read(make_project, spark, tmp_path: Path) -> None:
    """Files that have been folded are damaged: opening one of them would fail."""
    folder = tmp_path / "landing"
    project = make_project(
        "files",
        {
            "models/stage.sql": "select id, version, _metadata.file_name as block from files.landed",
            "models/kept.sql": model("ledger(ref('stage'))", {"key": "id", "version": "version", "block": "block"}),
        },
    )
    project.sql("create schema if not exists files")
    project.sql(f"create table files.landed (id bigint, version int) using parquet location '{folder}'")
    for number in (1, 2):
        landed = set(folder.glob("*.parquet"))
        spark.sql(f"select {number}L as id, 1 as version").coalesce(1).write.mode("append").parquet(str(folder))
        spark.sql("refresh table files.landed")
        project.run("run")
        for file in landed:
            assert file.read_bytes() == b"damaged"
        for file in folder.glob("*.parquet"):
            file.write_bytes(b"damaged")
    assert project.rows("select id, ledger_batch from kept order by id") == [(1, 1), (2, 2)]
