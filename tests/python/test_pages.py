"""docs/migrating.md and docs/operating.md: tables become ledgers, one of them from ClickHouse; each query of the second runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.clickhouse import ClickHouse
from support.dbt_project import VIEW, DbtProject, values
from support.pages import files_of, sql_of, text_of

pytestmark = [pytest.mark.only("parquet"), pytest.mark.full]
COLUMNS = "order_id, updated_at, shop, amount, is_deleted"
MERGED = [(1, 10, "north", 5, False), (2, 10, "north", 7, False), (3, 30, None, None, True)]
# of key 1 an update, of key 2 a delete, of key 3 an event that is late for its delete
FILE = [(1, 20, "south", 6, False), (2, 20, None, None, True), (3, 20, "east", 3, False)]


@pytest.fixture(scope="module")
def project(make_project) -> DbtProject:
    """The project of the page before its first run: the merged table has its other name."""
    [sources] = re.findall(r"```yaml\n# models/sources.yml\n(.*?)```", text_of("migrating.md"), re.DOTALL)
    staged = values((*row, "late") for row in FILE)
    files = {path: text for path, text in files_of("migrating.md").items() if "visits" not in path} | files_of("operating.md")
    files["models/sources.yml"] = sources
    files["models/stg_files.sql"] = (
        f"{VIEW}select * from values {staged} as t ({COLUMNS}, _block) where '{{{{ var('upto') }}}}' = 'late'"
    )
    project = make_project("shop", files)
    project.sql("drop schema if exists shop cascade")  # of other pages, which have tables of these names
    project.sql("create schema shop")
    project.sql(f"create table shop.orders using parquet as select * from values {values(MERGED)} as t ({COLUMNS})")
    [rename] = (block for block in sql_of("migrating.md") if block.startswith("alter table"))
    project.sql(rename)
    return project


def test_a_merged_table_becomes_the_first_block_of_a_ledger(project) -> None:
    project.run("run", "--select", "+orders", variables={"upto": "merged"})
    [compare] = (block for block in sql_of("migrating.md") if "except all" in block)
    assert project.rows(compare) == [(0,)]
    project.run("run", variables={"upto": "late"})
    assert project.rows("select * from shop.orders") == [(1, 20, "south", 6)]
    assert project.rows("select * from shop.orders_by_shop") == [("south", 1, 6)]


def test_each_query_of_the_page_runs(project) -> None:
    """Its tests pass, and it shows the batches, what became of a key, which blocks would be lost, folders, and a copy."""
    late = {"upto": "late"}
    alerts = [path.removeprefix("tests/").removesuffix(".sql") for path in files_of("operating.md")]
    assert project.run("test", "--select", *alerts, variables=late) == dict.fromkeys(alerts, "pass")
    queries = [block for block in sql_of("operating.md") if not block.startswith("--")]
    history, decisions, changes, lost, folders, branches, copy = queries
    shown = []
    for query in (history, decisions, changes, lost):
        compiled = project.invoke("compile", "--inline", query, variables=late).result.results[0].node.compiled_code
        shown.append([row.asDict() for row in project.sql(compiled).collect()])
    assert [(row["batch"], row["act"], row["stale"]) for row in shown[0]] == [(2, "run", 1), (1, "run", None)]
    assert [row["decision"] for row in shown[1]] == ["applied", "applied"]
    assert [(row["ledger_batch"], row["ledger_sign"]) for row in shown[2]] == [(1, 1), (2, -1), (2, 0)]
    assert shown[3] == [], "no block is lost"
    assert len(project.rows(folders)) == 2
    assert ".refs" in branches  # of Iceberg
    for statement in re.sub("--.*", "", copy).split(";"):
        if statement.strip():
            project.sql(statement)
    assert project.batches("shop.orders_copy") == project.batches("shop.orders_ledger")
    same = "select * from shop.orders_{} order by ledger_batch, order_id, ledger_sign"
    assert project.rows(same.format("copy")) == project.rows(same.format("ledger"))


# user_id, page_views, shop, visited_at, Sign, Version: of user 1 an update, of user 3 a delete
VISITS = [
    *((1, 5, "north", "2026-03-01 10:00:00", 1, 1), (1, 5, "north", "2026-03-01 10:00:00", -1, 1)),
    *((1, 6, "north", "2026-03-01 11:00:00", 1, 2), (2, 3, "south", "2026-03-01 10:00:00", 1, 1)),
    *((3, 9, "east", "2026-03-01 10:00:00", 1, 1), (3, 9, "east", "2026-03-01 10:00:00", -1, 1)),
]


@pytest.mark.parametrize("way", ["signed", "events"])
def test_a_table_of_clickhouse_is_exported_and_folded(make_project, tmp_path: Path, way: str) -> None:
    landing = tmp_path / "landing" / "visits"
    landing.mkdir(parents=True)
    clickhouse = ClickHouse()
    clickhouse.script("drop database if exists shop; create database shop")
    columns = "user_id UInt64, page_views UInt32, shop String, visited_at DateTime('UTC'), Sign Int8, Version UInt64"
    clickhouse.run(f"create table shop.visits ({columns}) engine = VersionedCollapsingMergeTree(Sign, Version) order by user_id")
    clickhouse.run(f"insert into shop.visits values {values(VISITS)}")
    place = 0 if way == "signed" else 1
    export = [block for block in sql_of("migrating.md") if "insert into function" in block][place]
    clickhouse.run(re.sub(r"file\('\w+/", f"file('{landing}/", export))
    stage = files_of("migrating.md")["models/stg_visits.sql"].replace("`/landing/visits`", f"`{landing}`")
    ledger = [block for block in sql_of("migrating.md") if block.startswith("-- models/visits_ledger.sql")][place]
    files = {
        "models/stg_visits.sql": stage if way == "signed" else stage.replace("    sign,", "    is_deleted,"),
        "models/visits_ledger.sql": ledger,
        "models/visits.sql": VIEW + "select * from {{ collapsing.final(ref('visits_ledger')) }}",
    }
    project = make_project(f"visits_{way}", files)
    project.run("run")
    seen = project.rows("select user_id, page_views, shop, cast(visited_at as string), version from visits order by user_id")
    assert seen == [(1, 6, "north", "2026-03-01 11:00:00", 2), (2, 3, "south", "2026-03-01 10:00:00", 1)]
