"""Texts of a collation, which are equal and read differently: what is appended, joined and grouped keeps how each is written."""

from __future__ import annotations

import pyspark
import pytest

from support.dbt_project import LEDGER, VIEW, DbtProject, model

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(pyspark.__version__ < "4", reason="Spark has collations from 4.0 on"),
]

CITIES = {
    "models/shops_arrived.sql": VIEW + "select * from collated.arrived_shops",
    "models/orders_arrived.sql": VIEW + "select * from collated.arrived_orders",
    "models/notes_arrived.sql": VIEW + "select * from collated.arrived_notes",
    "models/shops.sql": model("ledger(ref('shops_arrived'))", LEDGER | {"key": "city"}),
    "models/orders.sql": model("ledger(ref('orders_arrived'))", LEDGER),
    "models/wide.sql": model(
        "joined(ref('orders'), shops=ref('shops'))",
        {"join": {"shops": {"on": {"place": "city"}, "columns": ["city", "region"]}}, "rebuild_share": 1},
    ),
    "models/by_city.sql": model("projection(ref('wide'))", {"group_by": ["city", "amount"], "measures": {"n": "count(*)"}}),
    "models/rolled_up.sql": model("projection(ref('by_city'))", {"group_by": ["city"], "measures": {"n": "sum(n)"}}),
    "models/rolled_up_live.sql": VIEW + "select * from {{ collapsing.final(ref('rolled_up')) }}",
    "models/computed.sql": model(
        "projection(ref('by_city'))", {"group_by": {"city": "substr(city, 1, 1)"}, "measures": {"n": "sum(n)"}}
    ),
    "models/notes.sql": model(
        "ledger(ref('notes_arrived'))", {"engine": "replacing", "key": "id", "order_by": "place", "count_decisions": False}
    ),
    "models/notes_live.sql": VIEW + "select * from {{ collapsing.final(ref('notes')) }}",
    "models/tied_arrived.sql": VIEW + "select id, version, is_deleted, block, city collate utf8_lcase as city, n from values "
    "(1, 1, false, 'a', 'Riga', 5), (1, 1, false, 'a', 'RIGA', 5) as t (id, version, is_deleted, block, city, n)",
    "models/tied.sql": model("ledger(ref('tied_arrived'))", LEDGER | {"combine": {"n": "old.n + new.n"}}),
    "models/tests.yml": "models: [{name: wide, data_tests: [collapsing.collapsed]}, "
    "{name: by_city, data_tests: [collapsing.equals_recompute]}]\n",
}
BUILT = ("shops", "orders", "wide", "by_city")


@pytest.fixture(scope="module")
def project(make_project) -> DbtProject:
    """A project whose tables have arrived with one shop, one order of it in another spelling, and one note."""
    project = make_project("collated", CITIES)
    project.sql("create schema if not exists collated")
    common = "version int, is_deleted boolean, block string"
    project.sql(f"create table collated.arrived_shops (city string collate utf8_lcase, region string, {common}) using parquet")
    project.sql(
        f"create table collated.arrived_orders (id int, place string collate utf8_lcase, amount int, {common}) using parquet"
    )
    project.sql("create table collated.arrived_notes (id int, place int, note string collate utf8_lcase) using parquet")
    project.sql("insert into collated.arrived_shops values ('Riga', 'north', 1, false, 'a')")
    project.sql("insert into collated.arrived_orders values (1, 'riga', 10, 1, false, 'a')")
    project.sql("insert into collated.arrived_notes values (1, 1, 'left'), (2, 1, 'right')")
    project.run("run", "--exclude", "computed")
    return project


def test_a_joined_row_is_taken_back_as_it_was_written(project: DbtProject) -> None:
    project.sql("insert into collated.arrived_shops values ('RIGA', 'south', 2, false, 'b')")
    project.run("run", "--select", *BUILT)
    written = "select cast(city as binary), region, sum(ledger_sign) from collated.wide group by 1, 2 order by 1"
    assert project.rows(written) == [(b"RIGA", "south", 1), (b"Riga", "north", 0)]
    assert set(project.run("test", "--select", "wide", "by_city").values()) == {"pass"}


def test_of_events_that_are_equal_but_for_their_spelling_the_first_by_that_is_combined(project: DbtProject) -> None:
    """As `decisions` tells it, whatever the order in which Spark reads them."""
    assert project.rows("select cast(city as binary), n from collated.tied where ledger_sign = 1") == [(b"RIGA", 5)]


def test_a_text_that_was_corrected_to_an_equal_one_is_new_without_blocks(project: DbtProject) -> None:
    project.sql("insert overwrite collated.arrived_notes values (1, 1, 'LEFT'), (2, 1, 'right')")
    for _ in range(2):
        project.run("run", "--select", "notes", "notes_live")
        assert project.rows("select cast(note as binary) from collated.notes_live order by id") == [(b"LEFT",), (b"right",)]
    assert len(project.batches("collated.notes")) == 2, "the run that found nothing new has appended"


def test_a_rollup_groups_by_a_text_and_not_by_what_is_computed_from_how_it_is_written(project: DbtProject) -> None:
    said = " ".join(project.fails("run", "--select", "computed").split())
    assert "setting 'group_by.city' computes with the column 'city' of by_city, which is string collate UTF8_LCASE" in said
    assert project.rows("select n from collated.rolled_up_live") == [(1,)]
