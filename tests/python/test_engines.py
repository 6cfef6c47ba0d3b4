"""Each engine and input in a stranger's project: keys, change feeds, stages without tokens, what the test collapsed finds."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.dbt_project import REPOSITORY, VIEW, model, nodes_of, values

pytestmark = pytest.mark.only("parquet")  # rules of rows; test_batch_equal reads every engine on every format

TEXTS = ["", " ", "a", "A", "a ", "é", "e\u0301", "it's", "\U0001f600"]
# each differs from the first in one column alone, by the least there is: composite keys of five types
KEYS = [
    ("'k'", "date'2013-11-03'", "timestamp'2013-11-03 01:30:00'", "1BD", "X'00'"),
    ("'K'", "date'2013-11-03'", "timestamp'2013-11-03 01:30:00'", "1BD", "X'00'"),
    ("'k'", "date'2013-11-04'", "timestamp'2013-11-03 01:30:00'", "1BD", "X'00'"),
    ("'k'", "date'2013-11-03'", "timestamp'2013-11-03 01:30:00.000001'", "1BD", "X'00'"),
    ("'k'", "date'2013-11-03'", "timestamp'2013-11-03 01:30:00'", "1.000000000000000001BD", "X'00'"),
    ("'k'", "date'2013-11-03'", "timestamp'2013-11-03 01:30:00'", "1BD", "X'0000'"),
]
KEY = ["text", "day", "moment", "price", "raw"]
EVENTS = {"is_deleted": "is_deleted", "order_by": "position"}
SIGNED = {"input": "signed", "sign": "sign", "order_by": "position"}
ENGINES = {
    "versioned": EVENTS | {"version": "version"},
    "collapsed": EVENTS | {"engine": "collapsing"},
    "replaced": EVENTS | {"engine": "replacing", "version": "version"},
    "replaced_by_last": EVENTS | {"engine": "replacing"},
    "first": {"engine": "deduplicating", "order_by": "position"},
    "signed": SIGNED | {"engine": "collapsing"},
    "versioned_signed": SIGNED | {"version": "version"},
    "combined_versioned": EVENTS | {"version": "version", "combine": {"payload": "concat(old.payload, new.payload)"}},
    "combined_collapsed": EVENTS | {"engine": "collapsing", "combine": {"payload": "concat(old.payload, new.payload)"}},
    "combined_replaced": EVENTS
    | {"engine": "replacing", "version": "version", "combine": {"payload": "concat(old.payload, new.payload)"}},
}
# id, version, is_deleted, payload, sign; two blocks of one key's whole life, and one key that is deleted
ARRIVALS = {
    "b1": [(1, 1, False, "a", 1), (1, 1, False, "a", -1), (1, 2, False, "b", 1), (2, 1, False, "x", 1)],
    "b2": [(2, 1, True, "x", -1), (1, 2, False, "b", -1), (1, 3, False, "c", 1), (3, 1, False, "z", 1)],
}
# events read the rows with sign 1 and the delete
LIVE = {
    "versioned": {1: "c", 3: "z"},
    "collapsed": {1: "c", 3: "z"},
    "replaced": {1: "c", 3: "z"},
    "replaced_by_last": {1: "c", 3: "z"},
    "first": {1: "a", 2: "x", 3: "z"},
    "signed": {1: "c", 3: "z"},
    "versioned_signed": {1: "c", 3: "z"},
    "combined_versioned": {1: "abc", 3: "z"},
    "combined_collapsed": {1: "abc", 3: "z"},
    "combined_replaced": {1: "abc", 3: "z"},
}


IMAGE = "struct<id: bigint, name: string, amount: int, changed_at: int>"
CHANGES = f"offset bigint, op string, before {IMAGE}, after {IMAGE}, block string"
FEED_SETTINGS = {"input": "signed", "key": "id", "sign": "sign", "order_by": "offset", "block": "block"}
FEED = {
    "models/changes.sql": VIEW + "select * from engines.arrived",
    "models/feed_stage.sql": VIEW + "select * from {{ collapsing.change_feed(ref('changes'), keep=['offset', 'block']) }}",
}
FEED_LEDGERS = {
    "accounts": FEED_SETTINGS | {"engine": "collapsing"},
    "versions": FEED_SETTINGS | {"version": "changed_at"},
}

# Ledgers that hold what they should not: signed rows inserted twice, and rows that no run has made.
TWICE = "(1, 1, 1, 'b1', 1), (1, 1, -1, 'b1', 2), (1, 2, 1, 'b1', 3), (2, 1, 1, 'b1', 1), (2, 1, 1, 'b2', 1), (3, 1, -1, 'b2', 1)"
BROKEN_SIGNED = {"input": "signed", "key": "id", "sign": "sign", "order_by": "position", "block": "block"}
BROKEN_EVENTS = {"key": "id", "version": "version", "block": "block"}
BROKEN_LEDGERS = {
    "twice": BROKEN_SIGNED | {"engine": "collapsing"},
    "twice_versioned": BROKEN_SIGNED | {"version": "version"},
    "orders": BROKEN_EVENTS,
    "winners": BROKEN_EVENTS | {"engine": "replacing"},
}
CHECKED = [*BROKEN_LEDGERS, "by_id"]
BROKEN = {f"models/{name}.sql": model("ledger(ref('stage'))", settings) for name, settings in BROKEN_LEDGERS.items()} | {
    "models/stage.sql": f"{VIEW}select * from values {TWICE} as t (id, version, sign, block, position)",
    "models/by_id.sql": model("projection(ref('orders'))", {"group_by": ["id"], "measures": {"n": "count(*)"}}),
    "models/broken.yml": "models: ["
    + ", ".join(f"{{name: {name}, data_tests: [collapsing.collapsed]}}" for name in CHECKED)
    + "]",
}


# What can do without a token.
ABLE_WHOLE = ("versioned", "first")
# What the default run folds: block by block the engines whose finals no other file shows; from a stage without tokens the one
# that test_batch_equal.py has not; by keys of every type one that looks up old rows by the key, and one that looks up none.
BY_BLOCK = ("replaced_by_last", "combined_collapsed", "combined_replaced")
WHOLE = ("first",)
KEYED = ("collapsed", "signed")
FED = ("accounts",)


def each(names: Iterable[str], default: Iterable[str]) -> list:
    """Return names as the cases of a test; those that are not of the default run are for --full."""
    return [pytest.param(name, marks=[] if name in default else [pytest.mark.full]) for name in names]


@dataclass(frozen=True)
class Variants:
    """The ledgers that are folded: block by block, without a token, with keys of every type, and of a change feed."""

    by_block: Sequence[str]
    whole: Sequence[str]
    keyed: Sequence[str]
    fed: Sequence[str]

    @property
    def ledgers(self) -> list[str]:
        """The names of the models of the first three."""
        return [*self.by_block, *(f"{name}_whole" for name in self.whole), *(f"{name}_keys" for name in self.keyed)]


@pytest.fixture(scope="module")
def variants(full: bool) -> Variants:
    """What is folded: in the full run all that can be."""
    keyed = [name for name, settings in ENGINES.items() if "combine" not in settings]
    return Variants([*ENGINES], ABLE_WHOLE, keyed, [*FEED_LEDGERS]) if full else Variants(BY_BLOCK, WHOLE, KEYED, FED)


def _feed_files(ledgers: Iterable[str]) -> dict[str, str]:
    """Return the models of a change feed: its stage, and ledgers over it with a projection each."""
    files = dict(FEED)
    for ledger in ledgers:
        files[f"models/{ledger}.sql"] = model("ledger(ref('feed_stage'))", FEED_LEDGERS[ledger])
        files[f"models/{ledger}_final.sql"] = VIEW + f"select * from {{{{ collapsing.final(ref('{ledger}')) }}}}"
        files[f"models/{ledger}_by_name.sql"] = model(
            f"projection(ref('{ledger}'))", {"group_by": ["name"], "measures": {"n": "count(*)", "amount": "sum(amount)"}}
        )
        files[f"models/{ledger}_names.sql"] = VIEW + f"select * from {{{{ collapsing.final(ref('{ledger}_by_name')) }}}}"
    tested = ", ".join(f"{{name: {ledger}, data_tests: [collapsing.collapsed]}}" for ledger in ledgers)
    return files | {"models/feed.yml": f"models: [{tested}]"}


def _files(variants: Variants) -> dict[str, str]:
    """Return the models of engines over ARRIVALS, up to the block of the variable `upto`."""
    arrived = values((position, block, *row) for block, rows in ARRIVALS.items() for position, row in enumerate(rows))
    staged = f"select * from values {arrived} as t (position, block, id, version, is_deleted, payload, sign)"
    until = "where block <= '{{ var('upto') }}'"
    keys = [(json.dumps(text), *KEYS[0][1:]) for text in TEXTS] + KEYS
    typed_keys = ", ".join(f"({', '.join(key)})" for key in keys)
    typed = "text, day, moment, cast(price as decimal(38, 18)) as price, raw"
    rest = "1 as version, false as is_deleted, 1 as sign, 1 as position, 'p' as payload"
    once = f"select {typed}, {rest} from values {typed_keys} as t ({', '.join(KEY)})"
    files = {
        "models/stage_signed.sql": f"{VIEW}select position, block, id, version, payload, sign from ({staged}) {until}",
        "models/stage_events.sql": f"{VIEW}select position, block, id, version, is_deleted, payload from ({staged}) {until} "
        "and (sign = 1 or is_deleted)",
        # events come twice, signed rows once: there twice would be two
        "models/keys_signed.sql": f"{VIEW}select *, 'b1' as block from ({once})",
        "models/keys_events.sql": f"{VIEW}select * from ({once}) lateral view explode(array('b1', 'b2')) as block {until}",
    }
    for name, settings in ENGINES.items():
        stage = "signed" if "input" in settings else "events"
        body = f"ledger(ref('stage_{stage}'))"
        if name in variants.by_block:
            files[f"models/{name}.sql"] = model(body, settings | {"key": "id", "block": "block"})
        if name in variants.whole:
            # nothing but order_by says here which block came first
            files[f"models/{name}_whole.sql"] = model(body, settings | {"key": "id", "order_by": ["block", "position"]})
        if name in variants.keyed:
            files[f"models/{name}_keys.sql"] = model(f"ledger(ref('keys_{stage}'))", settings | {"key": KEY, "block": "block"})
    files["models/finals.sql"] = VIEW + "\nunion all\n".join(
        f"select '{ledger}' as ledger, id, payload from {{{{ collapsing.final(ref('{ledger}')) }}}}"
        for ledger in [*variants.by_block, *(f"{name}_whole" for name in variants.whole)]
    )
    files["models/keyed.sql"] = VIEW + "\nunion all\n".join(
        f"select '{name}' as ledger, {', '.join(KEY)} from {{{{ collapsing.final(ref('{name}_keys')) }}}}"
        for name in variants.keyed
    )
    return files


@pytest.fixture(scope="module")
def project(make_project, variants):
    """One project of all that this file folds; nothing of it is there yet."""
    project = make_project("engines", _files(variants) | _feed_files(variants.fed) | BROKEN)
    project.sql("create schema if not exists engines")
    project.sql(f"create table engines.arrived ({CHANGES}) using parquet")
    return project


@pytest.fixture(scope="module")
def engines(project, variants):
    """Fold ARRIVALS block by block through engines, with and without a block token; the project with what they hold."""
    stages = ["stage_signed", "stage_events", "keys_signed", "keys_events"]
    project.run("run", "--select", *stages, *variants.ledgers, "finals", "keyed", variables={"upto": "b1"})
    # of keys of signed rows there is one block
    later = [name for name in variants.ledgers if not name.endswith("signed_keys")]
    project.run("run", "--select", "stage_signed", "stage_events", "keys_events", *later, variables={"upto": "b2"})
    return project


@pytest.mark.parametrize("name", each(ENGINES, BY_BLOCK))
def test_final_after_two_blocks(engines, name: str) -> None:
    rows = engines.rows(f"select id, payload from finals where ledger = '{name}'")
    assert sorted(rows) == sorted(LIVE[name].items())


def test_a_run_without_news_appends_no_batch_and_no_row(engines, variants, full: bool) -> None:
    """Without tokens the whole stage is read again; either way it ends in the same rows."""
    whole = [f"{name}_whole" for name in variants.whole]
    counts = {ledger: engines.visible(ledger) for ledger in whole}
    by_block = variants.by_block if full else variants.by_block[:1]
    engines.run("run", "--select", *by_block, *whole, variables={"upto": "b2"})
    assert {name: engines.visible(name) for name in by_block} == dict.fromkeys(by_block, [0, 1, 2])
    for name, ledger in zip(variants.whole, whole, strict=True):
        rows = engines.rows(f"select id, payload from finals where ledger = '{ledger}'")
        assert sorted(rows) == sorted(LIVE[name].items()), ledger
        assert engines.visible(ledger) == counts[ledger], ledger


def test_keys_of_every_type_that_look_alike_are_different_keys(engines, variants) -> None:
    for name in variants.keyed:
        rows = engines.rows(f"select text, day, moment, price, raw from keyed where ledger = '{name}'")
        assert len(rows) == len(set(map(repr, rows))) == len(TEXTS) + len(KEYS), name
        assert {row[0] for row in rows} == {*TEXTS, "k", "K"}, name


@pytest.fixture(scope="module")
def feed(project, variants):
    """A change feed in two blocks, signed rows of it in ledgers, and a projection on each."""
    _change(
        project, "b1", "(1, 'c', null, (1, 'ann', 10, 1)), (2, 'r', null, (2, 'bob', 20, 1)), (3, 'c', null, (3, 'cid', 1, 1))"
    )
    project.run("run", "--select", "changes+", variables={"upto": "b2"})
    _change(
        project,
        "b2",
        "(4, 'u', (1, 'ann', 10, 1), (1, 'bob', 11, 2)), (5, 'd', (2, 'bob', 20, 1), null), (6, null, null, null), "
        "(7, 'u', (1, 'bob', 11, 2), (1, 'bob', 12, 3))",
    )
    project.run("run", "--select", *variants.fed, *(f"{name}_by_name" for name in variants.fed), variables={"upto": "b2"})
    return project


def _change(project, block: str, rows: str) -> None:
    """Append changes as one block: (offset, op, before image, after image)."""
    images = f"cast(col3 as {IMAGE}), cast(col4 as {IMAGE})"
    project.sql(f"insert into engines.arrived select col1, col2, {images}, '{block}' from values {rows}")


@pytest.mark.parametrize("ledger", each(FEED_LEDGERS, FED))
def test_a_change_feed_needs_no_lookup(feed, ledger: str) -> None:
    live = feed.rows(f"select id, name, amount, sign from {ledger}_final order by id")
    assert live == [(1, "bob", 12, 1), (3, "cid", 1, 1)]
    assert feed.rows(f"select * from {ledger}_names order by name") == [("bob", 1, 12), ("cid", 1, 1)]
    assert feed.rows(f"select count(*), sum(ledger_sign) from {feed.data(ledger)}") == [(8, 2)]
    compiled = (feed.target / "compiled" / "engines" / "models" / f"{ledger}.sql").read_text()
    assert f"engines.{ledger}" not in compiled
    assert feed.run("test", "--select", ledger) == {f"collapsing_collapsed_{ledger}_": "pass"}


def test_changes_without_their_images_stop_the_ledger(feed) -> None:
    _change(feed, "b3", "(8, 'u', null, (3, 'cid', 2, 2)), (9, 't', null, null), (10, 'd', null, null)")
    said = feed.fails("run", "--select", "accounts", variables={"upto": "b2"})
    assert "bad_sign (sign must be 1 or -1): 2 rows" in said and '{"id":3,"sign":null} in block b3' in said
    assert "null_key (id must not be NULL): 2 rows" in said and '{"id":null,"sign":' in said
    assert feed.visible("accounts") == [0, 1, 2]


@pytest.fixture(scope="module")
def broken(project):
    """The project with the ledgers of BROKEN."""
    project.run("run", "--select", "stage+", variables={"upto": "b2"})
    return project


def _findings(project, *names: str) -> list[list[tuple]]:
    """Run the test collapsed of ledgers; returns the rows that it found of each."""
    nodes = {node.node.name: node for node in nodes_of(project.invoke("test", "--select", *names))}
    found = []
    for node in [nodes.pop(f"collapsing_collapsed_{name}_") for name in names]:
        rows = project.rows(node.node.compiled_code)
        assert str(node.status) == ("fail" if rows else "pass")
        found.append(sorted(((row[0], json.loads(row[1]), *row[2:]) for row in rows), key=str))
    assert not nodes
    return found


def test_collapsed_finds_signed_rows_that_were_inserted_twice(broken) -> None:
    assert _findings(broken, "twice", "twice_versioned") == [[("surplus", {"id": 2}, 2, 0)]] * 2


def test_collapsed_finds_rows_that_no_run_has_made(broken) -> None:
    columns = "id, version, sign, position, ledger_sign, ledger_block, ledger_note, ledger_batch"
    broken.sql(
        f"insert into engines.orders ({columns}) values "
        "(1, 2, 1, 3, 1, 'x', null, 9), (2, 1, 1, 1, -1, 'x', null, 9), (2, 1, 7, 7, -1, 'x', null, 9), "
        "(3, 0, -1, 1, 0, 'x', null, 9)"
    )
    assert _findings(broken, "orders") == [
        [
            ("cancel_without_state", {"id": 2}, 0, 1),
            ("surplus", {"id": 1}, 2, 0),
            ("surplus", {"id": 2}, 1, 2),
            ("surplus", {"id": 3}, 1, 0),
            ("versions_not_rising", {"id": 1}, 1, 0),
            ("versions_not_rising", {"id": 3}, 0, 0),
        ]
    ]
    broken.drop_batch("orders", 9)


def test_collapsed_refuses_what_it_cannot_check(broken) -> None:
    said = broken.failures("test", "--select", "winners", "by_id")
    assert "the engine replacing has no cancel rows" in said["collapsing_collapsed_winners_"]
    assert "the test collapsed needs a ledger; this is a projection" in said["collapsing_collapsed_by_id_"]


@pytest.mark.full
def test_an_engine_is_added_by_one_file_and_its_name(make_project, tmp_path: Path) -> None:
    """The one that CONTRIBUTING.md prints: the event with the lowest version is live."""
    package = tmp_path / "package"
    for path in ("macros", "tests/generic"):
        shutil.copytree(REPOSITORY / path, package / path)
    shutil.copy(REPOSITORY / "dbt_project.yml", package)
    page = (REPOSITORY / "CONTRIBUTING.md").read_text()
    (printed,) = re.findall(r"```sql\n(\{# macros/engines/earliest\.sql.*?)```", page, re.DOTALL)
    engines = package / "macros" / "engines"
    (engines / "earliest.sql").write_text(printed)
    text = (engines / "engines.sql").read_text()
    for line, added in (
        ("'replacing': collapsing._engine_replacing,", "'earliest': collapsing._engine_earliest,"),
        ("return(['versioned_collapsing', ", "'earliest', "),
    ):
        assert text.count(line) == 1
        text = text.replace(line, line + added)
    (engines / "engines.sql").write_text(text)
    rows = values([(1, 5, 50, "b1"), (1, 3, 30, "b2"), (1, 4, 40, "b2"), (1, 9, 90, "b3"), (2, 1, 10, "b3")])
    staged = f"select * from values {rows} as t (id, version, amount, block) where block <= '{{{{ var('upto') }}}}'"
    settings = {"engine": "earliest", "key": "id", "version": "version", "block": "block"}
    files = {
        "models/stage.sql": VIEW + staged,
        "models/kept.sql": model("ledger(ref('stage'))", settings),
        "models/live.sql": VIEW + "select id, version, amount from {{ collapsing.final(ref('kept')) }}",
        "models/sums.sql": model("projection(ref('kept'))", {"group_by": [], "measures": {"amount": "sum(amount)"}}),
        "models/total.sql": VIEW + "select * from {{ collapsing.final(ref('sums')) }}",
        "models/tests.yml": json.dumps({"models": [{"name": "kept", "data_tests": ["collapsing.collapsed"]}]}),
    }
    project = make_project("earliest", files, package)
    for upto, live in (("b1", [(1, 5, 50)]), ("b2", [(1, 3, 30)]), ("b3", [(1, 3, 30), (2, 1, 10)])):
        project.run("build", variables={"upto": upto})
        assert project.rows("select * from live order by id") == live
        assert project.rows("select * from total") == [(sum(amount for _, _, amount in live),)]
    appended = f"select version, ledger_sign from {project.data('kept')} where ledger_batch = 2 order by 2"
    assert project.rows(appended) == [(5, -1), (3, 1)]
    decisions = dict(project.rows(f"select batch, to_json(decisions) from {project.notes('kept', 'commit')}"))
    assert decisions[2] == '{"applied":1,"superseded":1}' and decisions[3] == '{"applied":1,"stale":1}'
