"""Stages and sessions unlike most: text of limited length, moments without a zone, quoted sources, no live row."""

from __future__ import annotations

import pytest

from support.dbt_project import VIEW, DbtProject, model
from support.sessions import sessions_with

EVENTS = {"key": "id", "version": "version", "is_deleted": "is_deleted", "block": "block"}
MEASURES = {"n": "count(*)", "total": "sum(amount)", "mean": "avg(amount)"}
FILES = {
    "models/sources.yml": "sources: [{name: odd, quoting: {identifier: true, schema: true}, tables: [{name: arrived}]}]",
    "models/orders.sql": model("ledger(source('odd', 'arrived'))", EVENTS),
    "models/sums.sql": model("projection(ref('orders'))", {"group_by": [], "measures": MEASURES}),
    **{f"models/{of}_live.sql": VIEW + f"select * from {{{{ collapsing.final(ref('{of}')) }}}}" for of in ("orders", "sums")},
}


@pytest.fixture(scope="module")
def project(make_project) -> DbtProject:
    """A ledger of a quoted source with a projection, both built while the only row that has arrived is a delete."""
    project = make_project("odd", FILES)
    project.sql("create schema if not exists odd")
    columns = "id int, version int, is_deleted boolean, amount int, word varchar(5), mark char(2), at timestamp, block string"
    project.sql(f"create table odd.arrived ({columns}) using parquet")
    project.sql("insert into odd.arrived values (9, 1, true, 9, 'nine', 'n', timestamp'2014-01-01 10:00:00', 'b1')")
    project.run("run")
    return project


def test_sums_without_groups_of_a_ledger_without_live_rows(project) -> None:
    assert project.rows("select n, total, mean from odd.sums_live") in ([], [(0, None, None)])


def test_text_of_limited_length_of_a_quoted_source_is_folded_again_and_again(project, full: bool) -> None:
    for version in (1, 2) if full else (2,):
        moment = f"timestamp'2014-01-01 1{version}:00:00'"
        project.sql(f"insert into odd.arrived values (1, {version}, false, {version}, 'abcde', 'm', {moment}, 'v{version}')")
        project.run("run", "--select", "orders", "sums")
    assert project.rows("select id, word, amount from odd.orders_live") == [(1, "abcde", 2)]
    assert project.rows("select n, total, mean from odd.sums_live") == [(1, 2, 2.0)]


def test_a_session_whose_timestamps_have_no_zone(project) -> None:
    """Its block has a new key, and a new version of the one before, whose row is cancelled."""
    rows = "select id, 3, false, amount, 'late', 'm', timestamp_micros(0), 'b3' from values (1, 4), (2, 3) as t (id, amount)"
    with sessions_with({"spark.sql.timestampType": "TIMESTAMP_NTZ"}):
        project.sql(f"insert into odd.arrived {rows}")
        project.run("run", "--select", "orders", "sums")
        project.run("run", "--select", "orders", "sums")
    assert project.rows("select id, amount from odd.orders_live order by id") == [(1, 4), (2, 3)]
