"""The feeds and recipes of docs/recipes.md and docs/guides/debezium.md, by the SQL and the settings that the pages print."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.dbt_project import REPOSITORY, VIEW, DbtProject, messages_of, model, nodes_of, values

pytestmark = [pytest.mark.only("parquet"), pytest.mark.full]  # the feeds are files of this machine

RECIPES = (REPOSITORY / "docs" / "recipes.md").read_text()
GUIDE = (REPOSITORY / "docs" / "guides" / "debezium.md").read_text()


def _printed(begins: str, page: str = RECIPES) -> str:
    """Return the SQL of a page that begins so, without its first line if that is a comment."""
    [block] = re.findall(rf"```sql\n({re.escape(begins)}.*?)\n```", page, re.DOTALL)
    return re.sub(r"^--.*\n", "", block)


def _models(page: str, *names: str) -> dict[str, str]:
    """Return models of a page, {path: SQL}."""
    return {f"models/{name}.sql": _printed(f"-- models/{name}.sql", page) for name in names}


def _cells(row: str) -> list[list[str]]:
    """Return the code in each cell of the row of a table that begins so."""
    [line] = re.findall(rf"^\| ({re.escape(row)}.*) \|$", RECIPES, re.MULTILINE)
    return [re.findall(r"`([^`]+)`", cell) for cell in line.split(" | ")]


def _version(feed: str) -> list[str]:
    """Return the version that the page gives a feed."""
    return _cells(feed)[1][0].strip("[]").split(", ")


def _deletes(feed: str) -> str:
    return f"{_cells(feed)[2][0]} as is_deleted"


# The number of a text; the page calls the text `version`, `lsn` or `file`.
NUMBERS = {kind: _cells(kind)[1][0] for kind in ("`'9999'`", "Postgres positions", "binlog names", "`1.10`")}
BINLOG = NUMBERS["binlog names"]
POSTGRES = _printed("-- in the stage; the schema of source has")
SEQUENCE = ast.literal_eval(re.search(r"The version is `(\[.*?\])`", RECIPES)[1])
HOOK = re.search(r'pre_hook="(.*)"', RECIPES)[1]
TABLE = re.search(r"create table landing\.orders .*", RECIPES)[0]
EPOCHS = ast.literal_eval(re.search(r"by the time of the change, `(\[.*?\])`", RECIPES)[1])
SQL_SERVER, DMS, MONGO, KAFKA = "SQL Server's change tables", "AWS DMS", "MongoDB change streams", "a Kafka topic with a key"
SETTINGS = {"key": "id", "is_deleted": "is_deleted", "block": "_block"}
ARRIVED = "where run in (select run from feeds.arrived)"


@dataclass
class Feed:
    """A feed, and the stage that the page asks for.

    Parameters
    ----------
    columns : str
        Of the feed, the first of them the key and the value: NULL of a delete.
    changes : list of tuple
        In the order of their commits; last in each is the run by which it arrives.
    select : str
        What the stage makes of the other columns.
    version : list of str
        The version of the ledger.
    read : str
        The relation that the stage selects from, which has `feed` in it.
    """

    columns: str
    changes: list[tuple]
    select: str
    version: list[str]
    read: str = "feed"

    def files(self, name: str) -> dict[str, str]:
        """Return the models of the feed."""
        feed = f"(select * from values {values(self.changes)} as feed ({self.columns}, run) {ARRIVED})"
        stage = f"select id, value, {self.select}, run as _block from {self.read.replace('feed', feed, 1)}"
        ledger = model(f"ledger(ref('stg_{name}'))", SETTINGS | {"version": self.version})
        return {f"models/stg_{name}.sql": VIEW + stage, f"models/{name}_ledger.sql": ledger}

    def truth(self) -> dict:
        """Return the rows of the source after all changes, {key: value}."""
        rows = {change[0]: change[1] for change in self.changes}
        return {key: value for key, value in rows.items() if value is not None}


# Key 1: of two transactions that overlap, the one whose delete is later in the log commits first. Keys 2 and 3: a transaction
# that was running while the snapshot was taken. At the end a connector that was restarted sends two messages again.
OF_POSTGRES = [
    (2, "snapshot", "r", 1000, '[null,"1000"]', 0, 1),
    (3, "snapshot", "r", 1000, '[null,"1000"]', 1, 1),
    (4, "snapshot", "r", 1000, '[null,"1000"]', 2, 1),
    (2, "running", "u", 990, '[null,"990"]', 3, 2),
    (3, None, "d", 991, '[null,"991"]', 4, 1),
    (1, "A", "c", 1112, '["1010","1112"]', 5, 2),
    (1, None, "d", 1400, '["1010","1400"]', 6, 2),
    (1, "B", "c", 1336, '["1410","1336"]', 7, 1),
    (1, None, "d", 1400, '["1010","1400"]', 8, 3),
    (1, "B", "c", 1336, '["1410","1336"]', 9, 3),
]
of_postgres = partial(
    Feed, "id, value, op, lsn, sequence, offset", OF_POSTGRES,
    read="(select *, struct(op, struct(lsn, sequence) as source) as payload from feed)",
)  # fmt: skip
FEEDS = {
    "postgres_by_sequence": of_postgres(f"{POSTGRES} payload.op = 'd' as is_deleted", SEQUENCE),
    "postgres_by_offset": of_postgres("offset, op = 'd' as is_deleted", ["offset"]),
    "mysql": Feed(
        "id, value, op, file, pos, row",
        [
            (1, "a", "c", "mysql-bin.999999", 900, 0, 1),
            (2, "b", "c", "mysql-bin.999999", 900, 1, 1),
            (2, None, "d", "mysql-bin.999999", 950, 0, 2),
            (1, "c", "u", "mysql-bin.1000000", 4, 0, 1),
            (1, "d", "u", "mysql-bin.1000000", 4, 1, 2),
            (3, "e", "c", "mysql-bin.1000000", 80, 0, 2),
        ],
        f"{BINLOG} as binlog, pos, row, {_deletes('Debezium on MySQL')}",
        _version("Debezium on MySQL"),
    ),
    "sql_server": Feed(
        "id, value, `__$start_lsn`, `__$seqval`, `__$operation`",
        [
            (1, "a", "00000020", "01", 2, 1),
            (2, "b", "00000020", "02", 2, 1),
            (1, "a", "00000020", "0F", 3, 2),
            (1, "c", "00000020", "0F", 4, 1),
            (1, "c", "000000A0", "01", 3, 1),
            (1, "d", "000000A0", "01", 4, 2),
            (2, None, "000000A0", "02", 1, 1),
            (3, "e", "000000A0", "03", 2, 2),
            (3, None, "000000B0", "01", 1, 1),
            (3, "f", "000000B0", "01", 2, 1),
        ],
        f"start_lsn, seqval, operation, {_deletes(SQL_SERVER)}",
        _version(SQL_SERVER),
        "(select *, unhex(`__$start_lsn`) as start_lsn, unhex(`__$seqval`) as seqval, `__$operation` as operation from feed) "
        + _cells(SQL_SERVER)[3][1],
    ),
    "maxwell": Feed(
        "id, value, type, position",
        [
            (1, "a", "insert", "master.000009:800", 1),
            (2, "b", "insert", "master.000009:900", 1),
            (1, "c", "update", "master.000009:1000", 1),
            (2, None, "delete", "master.000009:1100", 2),
            (1, "d", "update", "master.000010:4", 2),
            (2, "e", "insert", "master.000010:50", 1),
        ],
        f"{BINLOG.replace('file', _cells('Maxwell')[1][3])} as binlog, {_cells('Maxwell')[1][4]} as pos, {_deletes('Maxwell')}",
        _version("Maxwell"),
    ),
    "mongo": Feed(
        "id, value, operationType, _data",
        [
            ("x", "a", "insert", "8265F0A0010000000129", 1),
            ("y", "b", "insert", "8265F0A0010000000229", 1),
            ("x", "c", "update", "8265F0A0020000000129", 2),
            ("y", None, "delete", "8265F0A0020000000229", 1),
            ("x", "d", "replace", "8265F0A0030000000129", 1),
        ],
        f"{_cells(MONGO)[1][0]} as token, {_deletes(MONGO)}",
        ["token"],
        "(select id, value, operationType, struct(_data) as _id, run from feed)",
    ),
    "kafka": Feed(
        "id, value, offset",
        [(1, "a", 8, 1), (2, "b", 9, 1), (2, None, 10, 2), (1, "c", 11, 2), (1, "d", 100, 1)],
        f"offset, {_deletes(KAFKA)}",
        _version(KAFKA),
    ),
    # key 1 and 2 have moved to a new partition, whose offsets begin at 0
    "more_partitions": Feed(
        "id, value, kafka_timestamp, offset",
        [
            (1, "a", "2026-03-01 11:00:00", 70, 1),
            (2, "b", "2026-03-01 11:00:01", 71, 1),
            (3, "c", "2026-03-01 11:00:02", 72, 1),
            (1, "d", "2026-03-01 12:00:01", 0, 1),
            (2, None, "2026-03-01 12:00:02", 1, 2),
            (3, "e", "2026-03-01 12:00:03", 73, 2),
            (1, "f", "2026-03-01 12:00:04", 2, 2),
        ],
        f"{_printed('if(kafka_timestamp')}, offset, {_deletes(KAFKA)}",
        EPOCHS,
        "(select id, value, offset, run, cast(kafka_timestamp as timestamp) as kafka_timestamp from feed)",
    ),
}
# {row of the page: (what the page calls the text, an older version, a newer one)}: as text, the older would be the greater.
TEXTS = {
    "`'9999'`": ("version", "9999", "10000"),
    "Postgres positions": ("lsn", "F/FF", "10/00"),
    "binlog names": ("file", "mysql-bin.999999", "mysql-bin.1000000"),
    "`1.10`": ("version", "1.9", "1.10"),
}


def _of_texts() -> dict[str, str]:
    """Return a ledger with a key of each kind of text, the older of which arrives later."""
    stages = []
    for kind, (column, older, newer) in TEXTS.items():
        version = (
            f"0 as number, {NUMBERS[kind]} as parts" if kind == "`1.10`" else f"{NUMBERS[kind]} as number, array(0) as parts"
        )
        rows = values([("older", older, 2), ("newer", newer, 1)])
        stages.append(
            f"select '{column} {newer}' as id, value, {version}, run as _block from values {rows} as t (value, {column}, run)"
        )
    settings = {"key": "id", "version": ["number", "parts"], "block": "_block"}
    stage = f"select * from ({' union all '.join(stages)}) where _block in (select run from feeds.arrived)"
    return {"models/stg_texts.sql": VIEW + stage, "models/texts_ledger.sql": model("ledger(ref('stg_texts'))", settings)}


# user, token, name, email, removed field, deleted, run
PATCHES = [
    ("u", 1, "Ada", "a@x", None, False, 1),
    ("v", 2, "Bob", "b@x", None, False, 1),
    ("u", 3, None, "ada@x", None, False, 1),
    ("u", 4, "Ada L.", None, None, False, 2),
    ("v", 5, None, None, "email", False, 2),
    ("w", 6, "Cid", "c@x", None, False, 2),
    ("w", 7, None, None, None, True, 2),
    ("w", 8, "Cid II", None, None, False, 2),
]
# id, name, update time, run; without a name an id of the list of deleted records, which is a block before the records of its run
RECORDS = [
    (1, "a", 10, 1), (2, "b", 10, 1), (3, "c", 10, 1), (1, None, None, 2), (3, None, None, 2), (3, "d", 20, 2), (2, "e", 20, 2),
    (1, "f", 30, 3), (2, None, None, 3),
]  # fmt: skip
# Snapshots in the order in which they arrive: the second one late.
SNAPSHOTS = {
    "2026-03-01": {1: 10, 2: 20, 3: 30},
    "2026-03-03": {1: 12, 3: 30, 4: 40},
    "2026-03-02": {1: 11, 2: 20, 4: 40},
}
# {run: lines of a file}, of which the page has JSON and CSV
ORDER = ("order_id", "updated_at", "shop", "amount", "is_deleted")
# of the live ones 2 is in one of two ledgers, and 6 in the other
ORDERS = {
    1: ((1, "2026-03-01 10:00:00", "north", 5.5, False), (2, "2026-03-01 11:00:00", "south", 7, False)),
    2: ((1, "2026-03-01 12:00:00", None, None, True), (6, "2026-03-01 12:00:00", "east", 3, False)),
}
LIVE_ORDERS = {2: "south, 7.00, 2026-03-01 11:00:00", 6: "east, 3.00, 2026-03-01 12:00:00"}
# file, run, [op, id, value, second]. The full load has the time of its copy, which is later than that of a change; key 2 is
# changed twice in a second, key 3 in a second that two files share.
OF_DMS = [
    ("LOAD00000001", 1, [(None, 1, "a", 9), (None, 2, "b", 9), (None, 3, "c", 9)]),
    ("20260301-120010000", 1, [("U", 1, "d", 8), ("U", 2, "e", 10), ("D", 2, None, 10), ("U", 3, "f", 11)]),
    ("20260301-120011000", 2, [("U", 3, "g", 11), ("I", 2, "h", 12), ("I", 4, "i", 12)]),
    ("20260301-120012000", 1, [("U", 2, "j", 12), ("U", 4, "k", 12), ("D", 4, None, 12)]),
]
TRUTH = {
    **{name: feed.truth() for name, feed in FEEDS.items()},
    "texts": {f"{column} {newer}": "newer" for column, _, newer in TEXTS.values()},
    "dms": {1: "d", 2: "j", 3: "g"},
    "users": {"u": "Ada L., ada@x", "v": "Bob, -", "w": "Cid II, -"},
    "records": {1: "f", 3: "d"},
    "products": SNAPSHOTS["2026-03-03"],
    **dict.fromkeys(("orders", "csv_orders", "writers"), LIVE_ORDERS),
    "regions": {"warm, Q1": "2, 10.00"},
    "history": {
        "1, 2026-03-01 10:00:00": "north, 5.50, 2026-03-01 12:00:00",
        "2, 2026-03-01 11:00:00": "south, 7.00",
        "6, 2026-03-01 12:00:00": "east, 3.00",
    },
    "departures": {"JFK, 2026-03-01": "3, 40, 8.0", "LGA, 2026-03-01": "1"},
}
SHOPS = "('north', 'cold'), ('south', 'warm'), ('east', 'warm') as t (shop, region)"
CALENDAR = "(date'2026-03-01', 'Q1'), (date'2026-04-01', 'Q2') as t (day, quarter)"
# flights of an hour, the worst delay, the sum of delays, and how many have departed
HOURS = """
    ('JFK', timestamp'2026-03-01 10:00:00', 2, 40, 30, 2), ('JFK', timestamp'2026-03-01 11:00:00', 1, -6, -6, 1),
    ('LGA', timestamp'2026-03-01 10:00:00', 1, null, null, 0) as t (origin, hour, flights, worst, delay, departed)
"""
# What the page composes from ledgers, projections and views.
COMPOSED = (
    *("orders_by_shop_and_day_projection", "orders_by_shop_and_day", "orders_by_region_and_quarter"),
    *("stg_orders_0", "orders_0_ledger", "orders", "departures_by_day", "order_versions_ledger", "order_versions"),
)


def _composed() -> dict[str, str]:
    """Return the models of COMPOSED, and those that the page names beside them."""
    printed = _models(RECIPES, *COMPOSED) | {
        "models/shops.sql": f"{VIEW}select * from values {SHOPS}",
        "models/calendar.sql": f"{VIEW}select * from values {CALENDAR}",
        "models/departures_by_hour.sql": f"{VIEW}select * from values {HOURS}",
    }
    files = {path.replace("models", "models/composed"): text for path, text in printed.items()}
    for name in ("stg_orders_0", "orders_0_ledger"):
        text = files[f"models/composed/{name}.sql"]
        files[f"models/composed/{name.replace('0', '1')}.sql"] = text.replace("= 0", "= 1").replace("orders_0", "orders_1")
    return files


def _files(landing: Path) -> dict[str, str]:
    """Return all models, with the paths of the pages in a folder of the test."""
    files = {path: text for name, feed in FEEDS.items() for path, text in feed.files(name).items()} | _of_texts()
    files["models/stg_dms.sql"] = VIEW + (
        f"select id, value, {_cells(DMS)[1][1]} as streamed, ts, {_cells(DMS)[1][2]} as file, {_cells(DMS)[1][3]} as row, "
        f"{_deletes(DMS)}, _metadata.file_name as _block from feeds.landed_dms"
    )
    hook = HOOK.replace("orders", "dms")
    files["models/dms_ledger.sql"] = f'{{{{ config(pre_hook="{hook}") }}}}\n' + model(
        "ledger(ref('stg_dms'))", SETTINGS | {"version": _version(DMS)}
    )
    patches = f"values {values(PATCHES)} as t (user_id, token, name, email, field, is_deleted, run)"
    files["models/stg_users.sql"] = (
        f"{VIEW}select user_id, token, name, email, is_deleted, array(field) as removed, run as _block from {patches} {ARRIVED}"
    )
    records = f"(select * from values {values(RECORDS)} as t (id, name, updated_at, run) {ARRIVED})"
    files["models/stg_records.sql"] = f"{VIEW}select *, concat(run, ' records') as _block from {records} where name is not null"
    files["models/stg_deleted_ids.sql"] = f"{VIEW}select id, concat(run, ' ids') as _block from {records} where name is null"
    files["models/stg_all_records.sql"] = VIEW + _printed("select id, name, updated_at, false as is_deleted, _block from {{ ref(")
    files["models/records_ledger.sql"] = model(
        "ledger(ref('stg_all_records'))", SETTINGS | {"version": "updated_at", "deletes": "unversioned"}
    )
    files |= _models(RECIPES, "users_ledger", "stg_products", "products_ledger")
    orders = _models(RECIPES, "stg_orders", "orders_ledger")
    [of_csv, of_json] = re.findall(r"from_\w+", orders["models/stg_orders.sql"])
    for path, text in orders.items():
        files[path] = text
        files[path.replace("orders", "csv_orders")] = text.replace("orders", "csv_orders").replace(of_json, of_csv)
    tables = [f"{{name: {name}, identifier: landed_{name}}}" for name in ("dms", "orders", "csv_orders")]
    files["models/sources.yml"] = f"sources: [{{name: landing, schema: feeds, tables: [{', '.join(tables)}]}}]"
    files |= _models(GUIDE, "stg_accounts", "accounts_ledger", "accounts") | _composed()
    order = "cast(order_id as string), concat_ws(', ', shop, amount, updated_at)"
    finals = dict.fromkeys((*FEEDS, "texts", "dms"), "cast(id as string), value") | {
        "users": "user_id, concat_ws(', ', name, coalesce(email, '-'))",
        "records": "cast(id as string), name",
        "products": "cast(product_id as string), cast(price as string)",
        "orders": order,
        "csv_orders": order,
    }
    views = {
        "writers": (order, "orders"),
        "regions": ("concat_ws(', ', region, quarter), concat_ws(', ', orders, amount)", "orders_by_region_and_quarter"),
        "history": ("concat_ws(', ', order_id, valid_from), concat_ws(', ', shop, amount, valid_to)", "order_versions"),
        "departures": ("concat_ws(', ', origin, day), concat_ws(', ', flights, worst, mean_delay)", "departures_by_day"),
    }
    read = {name: (columns, f"collapsing.final(ref('{name}_ledger'))") for name, columns in finals.items()}
    read |= {name: (columns, f"ref('{view}')") for name, (columns, view) in views.items()}
    files["models/finals.sql"] = VIEW + "\nunion all\n".join(
        f"select '{name}' as feed, array({columns}) as `row` from {{{{ {relation} }}}}"
        for name, (columns, relation) in read.items()
    )
    moved = {"`/landing": f"`{landing}", "`snapshots/": f"`{landing}/snapshots/"}
    for path, text in files.items():
        for printed, real in moved.items():
            text = text.replace(printed, real)
        files[path] = text
    return files


def _land(landing: Path, run: int) -> None:
    """Write the files that arrive for a run."""
    accounts = re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)
    (landing / "accounts" / f"{run}.json").write_text(accounts[run - 1])
    if run in ORDERS:
        lines = [json.dumps(dict(zip(ORDER, order, strict=True))) for order in ORDERS[run]]
        (landing / "orders" / f"{run}.json").write_text("\n".join(lines))
        lines = [",".join("" if value is None else str(value) for value in order) for order in ORDERS[run]]
        (landing / "csv_orders" / f"{run}.csv").write_text("\n".join(lines))
    taken_on, prices = [*SNAPSHOTS.items()][run - 1]
    snapshot = landing / "snapshots" / taken_on
    snapshot.mkdir(parents=True)
    pq.write_table(pa.table({"product_id": [*prices], "price": [*prices.values()]}), snapshot / "part-0.parquet")
    for file, arrives, changes in OF_DMS:
        if arrives == run:
            op, ids, texts, seconds = zip(*changes, strict=True)
            times = pa.array([second * 1_000_000 for second in seconds], pa.timestamp("us", "UTC"))
            columns = {"id": ids, "value": pa.array(texts, pa.string()), "ts": times} | ({"op": op} if any(op) else {})
            pq.write_table(
                pa.table({name: pa.array(column) for name, column in columns.items()}), landing / "dms" / f"{file}.parquet"
            )


@pytest.fixture(scope="module")
def feeds(make_project, tmp_path_factory) -> tuple[DbtProject, list[str], list[int]]:
    """The project after three runs, what each said of the guide's ledger, and how many orders Spark saw before and after each."""
    landing = tmp_path_factory.mktemp("feeds") / "landing"
    for folder in ("accounts", "orders", "csv_orders", "dms"):
        (landing / folder).mkdir(parents=True)
    project = make_project("feeds", _files(landing))
    project.sql("create schema if not exists feeds")
    project.sql("create table feeds.arrived (run int) using parquet")
    project.sql(
        f"create table feeds.landed_dms (op string, id bigint, value string, ts timestamp) using parquet location '{landing}/dms'"
    )
    for name in ("orders", "csv_orders"):
        table = TABLE.replace("orders", name).replace("landing.", "feeds.landed_")
        project.sql(table.replace("'/landing", f"'{landing}"))
    said, seen = [], []
    ledgers = ["--select", "config.materialized:incremental_ledger"]
    last = ["--select", *(f"{name}_ledger" for name in ("records", "products", "accounts", *FEEDS)), "path:models/composed"]
    for run, selected in ((1, []), (2, ledgers), (3, last)):
        _land(landing, run)
        project.sql(f"insert into feeds.arrived values ({run})")
        seen += project.rows("select count(*) from feeds.landed_orders")
        result = project.invoke("run", *selected)
        assert result.success, messages_of(result)
        seen += project.rows("select count(*) from feeds.landed_orders")
        said += [node.message for node in nodes_of(result) if node.node.name == "accounts_ledger"]
    return project, said, [count for (count,) in seen]


@pytest.fixture(scope="module")
def finals(feeds) -> list[tuple]:
    """What `final` gives of each feed: [name, [key, value]]."""
    return feeds[0].rows("select * from finals")


@pytest.mark.parametrize("feed", TRUTH)
def test_a_feed_ends_as_its_source_does(finals, feed: str) -> None:
    expected = sorted([str(key), str(value)] for key, value in TRUTH[feed].items())
    assert sorted(row for name, row in finals if name == feed) == expected


def test_the_guide_ends_as_it_says(feeds) -> None:
    project, said, _ = feeds
    assert "\n".join(said) == re.search(r"A `dbt run` after each file prints\n\n```\n(.*?)\n```", GUIDE, re.DOTALL)[1]
    printed = re.search(r"and `accounts` is then\n\n```\n(.*?)\n```", GUIDE, re.DOTALL)[1].splitlines()
    table = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in printed]
    assert [tuple(map(str, row)) for row in project.rows("select * from accounts order by account_id")] == table[2:]


def test_a_refresh_shows_the_files_that_have_arrived_since(feeds) -> None:
    """By the pre_hook of the page; without it Spark goes on showing those that it has listed."""
    assert feeds[2][:4] == [2, 2, 2, 4]
