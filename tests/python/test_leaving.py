"""docs/leaving.md, followed step by step: its models and statements as they stand there."""

from __future__ import annotations

import re

import pytest

from support.dbt_project import VIEW, DbtProject, model, values
from support.pages import files_of, sql_of

PAGE = "leaving.md"
ORDERS = {"key": "order_id", "version": "updated_at", "is_deleted": "is_deleted", "block": "block"}
BY_SHOP = {"group_by": ["shop"], "measures": {"orders": "count(*)", "amount": "sum(amount)"}}
COLUMNS = "order_id, updated_at, shop, amount, is_deleted, block"
OF_ORDERS = "select order_id, updated_at, shop, amount from shop."
ROWS = {
    "b1": [(1, 10, "north", 5, False), (2, 10, "north", 7, False), (3, 10, "south", 9, False), (4, 10, "south", 1, False)],
    "b2": [(1, 20, "south", 6, False), (2, 30, None, None, True), (4, 5, "north", 0, False)],
    # late for a deleted order, a delete, a revival, a copy, an order of its own, and two events of one order
    "b3": [(2, 20, "north", 8, False), (3, 20, None, None, True), (1, 20, "south", 6, False), (5, 10, "east", 3, False)],
    "b4": [(2, 40, "west", 4, False), (3, 15, "east", 2, False), (5, 11, "east", 4, False), (5, 12, None, None, True)],
    "b5": [(5, 30, "west", 1, False), (1, 30, None, None, True), (4, 20, "east", 2, False), (4, 30, "east", 3, False)],
}


@pytest.fixture(scope="module")
def project(make_project) -> DbtProject:
    """A ledger and a projection that have folded two of five blocks, and the plain tables of step 1."""
    staged = values((*row, block) for block, rows in ROWS.items() for row in rows)
    files = {
        "models/stg_orders.sql": f"{VIEW}select * from values {staged} as t ({COLUMNS}) where block <= '{{{{ var('upto') }}}}'",
        "models/orders_ledger.sql": model("ledger(ref('stg_orders'))", ORDERS),
        "models/orders_by_shop_projection.sql": model("projection(ref('orders_ledger'))", BY_SHOP),
        **dict.fromkeys(
            ("models/orders.sql", "models/live.sql"), VIEW + "select * from {{ collapsing.final(ref('orders_ledger')) }}"
        ),
        **{path: text for path, text in files_of(PAGE).items() if "again" not in path},
    }
    project = make_project("shop", files)
    project.sql("drop schema if exists shop cascade")  # of other pages, which have tables of these names
    project.run("run", variables={"upto": "b2"})
    return project


@pytest.mark.only("parquet", "delta", "iceberg")
def test_the_plain_tables_have_the_rows_of_final(project) -> None:
    live = [(1, 20, "south", 6), (3, 10, "south", 9), (4, 10, "south", 1)]
    assert sorted(project.rows("select * from shop.orders_plain")) == live
    assert project.rows("select * from shop.orders_deleted") == [(2, 30)]
    assert project.rows("select * from shop.orders_by_shop_plain") == [("south", 3, 16)]
    (without_the_package,) = (block for block in sql_of(PAGE) if "from shop.orders_ledger" in block)
    assert sorted(project.rows(without_the_package)) == live


@pytest.mark.only("delta", "iceberg")
def test_the_other_kind_of_model_goes_on_from_there(project, target: str) -> None:
    """Also under the name of the view, without what goes: the branch of its first run."""
    text = files_of(PAGE)["models/orders_again.sql"].replace("'delta'", f"'{target}'")
    project.write("models/orders_again.sql", text)

    def follow(table: str, upto: str) -> None:
        project.run("run", "--select", "stg_orders", "orders_ledger", "orders_again", variables={"upto": upto})
        again = project.rows(f"{OF_ORDERS}{table} where not is_deleted")
        assert sorted(again) == sorted(project.rows(f"{OF_ORDERS}live"))

    for upto in ("b2", "b3", "b4"):
        follow("orders_again", upto)
    (project.directory / "models/orders.sql").unlink()
    project.sql("drop view shop.orders")
    project.sql("alter table shop.orders_again rename to shop.orders")
    shortened = re.sub(r"{% if not is_incremental.*?{% else %}\n|{% endif %}\n", "", text, flags=re.DOTALL)
    project.write("models/orders_again.sql", shortened.replace("unique_key=", "alias='orders', full_refresh=false, unique_key="))
    follow("orders", "b5")
    assert sorted(project.rows(f"{OF_ORDERS}orders where not is_deleted")) == [
        (2, 40, "west", 4),
        (4, 30, "east", 3),
        (5, 30, "west", 1),
    ]
