"""The generic tests in a stranger's project: each passes on what runs have made, and names the keys of what they have not."""

from __future__ import annotations

import json

import pytest

from support.dbt_project import VIEW, DbtProject, given, model, nodes_of, values

COLUMNS = (
    "position int, id int, version int, is_deleted boolean, sign int, "
    "shop string, amount int, price decimal(10, 2), weight double, block string"
)
WITHOUT_VERSION = "position, id, is_deleted, sign, shop, amount, price, weight, block"
# keys 1 and 3 change, 2 and 5 are deleted (5 was never there), 4 has no shop, 6 a weight that is not a number;
# b2 holds duplicates, b3 a late row
ARRIVALS = [
    (1, 1, 1, False, 1, "a", 10, 1.25, 0.1, "b1"),
    (2, 2, 1, False, 1, "a", 20, 2.5, 0.2, "b1"),
    (3, 3, 1, False, 1, "b", 5, 0.01, 0.3, "b1"),
    (11, 6, 1, False, 1, "n", 1, 1.0, -1.0, "b1"),
    (4, 1, 2, False, 1, "b", 11, 1.35, 0.7, "b2"),
    (5, 2, 2, True, -1, "a", 20, 2.5, 0.2, "b2"),
    (6, 4, 1, False, 1, None, 7, None, 1e9, "b2"),
    (7, 3, 1, False, 1, "b", 5, 0.01, 0.3, "b2"),
    (12, 6, 1, False, 1, "n", 1, 1.0, -1.0, "b2"),
    (8, 3, 3, False, 1, "b", None, 0.02, 0.4, "b3"),
    (9, 5, 1, True, -1, "a", 1, 1.0, 1.0, "b3"),
    (10, 3, 2, False, 1, "c", 9, 9.99, 9.0, "b3"),
]
EVENTS = {"key": "id", "is_deleted": "is_deleted", "block": "block", "order_by": "position"}
COMBINE = {"combine": {"amount": "coalesce(new.amount, old.amount)"}}
SIGNED = {"key": "id", "input": "signed", "sign": "sign", "order_by": "position", "block": "block"}
ORDERS = EVENTS | {"version": "version"}
# ledgers of every engine and input that `decisions` knows
ENGINES = {
    "versioned": ORDERS,
    "unversioned": ORDERS | {"deletes": "unversioned"},
    "follows_arrival": EVENTS | {"engine": "collapsing"},
    "replaced": ORDERS | {"engine": "replacing"},
    "replaced_by_last": EVENTS | {"engine": "replacing"},
    "deduplicated": {"engine": "deduplicating", "key": "id", "block": "block", "order_by": "position"},
    "signed": SIGNED | {"engine": "collapsing"},
    "versioned_signed": SIGNED | {"version": "version"},
    "combined": ORDERS | COMBINE,
    "combined_unversioned": ORDERS | COMBINE | {"deletes": "unversioned"},
    "combined_by_arrival": EVENTS | COMBINE | {"engine": "collapsing"},
    "combined_replacing": ORDERS | COMBINE | {"engine": "replacing"},
    "rejecting": ORDERS | {"on_bad_rows": "reject"},
    "whole_stage": {name: value for name, value in ORDERS.items() if name != "block"},
}
BY_SHOP = {
    "group_by": {"shop": "shop", "even": "id % 2 = 0"},
    "measures": {
        **{"n": "count(*)", "amounts": "count(amount)", "amount": "sum(amount)", "mean_amount": "avg(amount)"},
        **{"price": "sum(price)", "mean_price": "avg(price)", "weight": "sum(weight)"},
        "heavy": "count(case when weight > 0.5 then 1 end)",
    },
}
TOTAL = {"group_by": [], "measures": {"n": "count(*)", "weight": "sum(weight)"}}


def yaml_of(tests: dict[str, list]) -> str:
    """Return the YAML of models with their data tests: {model: [test or {test: ...}]}."""
    return json.dumps({"models": [{"name": name, "data_tests": of_model} for name, of_model in tests.items()]})


def with_arguments(test: str, **arguments) -> dict:
    return {f"collapsing.{test}": given(**arguments)}


def complete(stage: str = "stage") -> dict:
    return with_arguments("complete", stage=f"ref('{stage}')")


def stage_of(table: str = "arrived", where: str = "true") -> str:
    return f"{VIEW}select * from {{{{ target.schema }}}}.{table} where block <= '{{{{ var('upto') }}}}' and {where}"


def make(make_project, name: str, files: dict[str, str]) -> DbtProject:
    """Make a project over the table `arrived`."""
    project = make_project(name, files)
    project.sql(f"create schema if not exists {name}")
    project.sql(f"create table {name}.arrived ({COLUMNS}) using parquet")
    weight = "if(col9 < 0, double('NaN'), double(col9))"
    kept = ", ".join(f"col{n}" for n in range(1, 9))
    project.sql(f"insert into {name}.arrived select {kept}, {weight}, col10 from values {values(ARRIVALS)}")
    return project


def found(project: DbtProject, *select: str, upto: str = "b3") -> dict[tuple[str, str], list[tuple]]:
    """Run the data tests; returns the rows that each found, in order, by (name of the test, model)."""
    result = project.invoke("test", *select, variables={"upto": upto})
    findings = {}
    for node in nodes_of(result):
        assert str(node.status) in ("pass", "fail"), f"{node.node.name}: {node.message}"
        rows_of = f"select * from {node.node.relation_name}" if node.node.relation_name else node.node.compiled_code
        rows = project.rows(rows_of) if str(node.status) == "fail" else []
        assert node.failures == len(rows)
        findings[node.node.test_metadata.name, node.node.attached_node.rsplit(".", 1)[1]] = rows
    return findings


def add_row(project: DbtProject, table: str, condition: str, **changed: str) -> None:
    """Append rows that no run has made: copies of those for which the condition holds, with columns changed to SQL."""
    kept = [column for column in project.sql(f"select * from {table}").columns if column not in changed]
    given = [f"{sql} as {column}" for column, sql in changed.items()]
    project.sql(f"insert into {table} by name select {', '.join(kept + given)} from {table} where {condition}")


def add_part(project: DbtProject, table: str, shop: str, even: str = "false", **parts: str) -> None:
    """Append a part to a group of a projection, 0 but for what is given."""
    given = {"ledger_batch": "-2", "shop": shop, "even": even} | parts
    columns = project.sql(f"select * from {table}").columns
    project.sql(f"insert into {table} by name select {', '.join(f'{given.get(name, 0)} as {name}' for name in columns)}")


IS_NOTE_OF_BLOCK = "get_json_object(ledger_note, '$.kind') = 'block'"


def take_row_away(project: DbtProject, table: str, batch: int, condition: str) -> None:
    """Take the rows of a batch for which the condition holds out of a table; there must be some."""
    project.sql(f"create table saved using parquet as select * from {table} where ledger_batch = {batch}")
    assert project.rows(f"select count(*) > 0 from saved where {condition}") == [(True,)]
    project.sql(f"alter table {table} drop partition (ledger_batch = {batch})")
    project.sql(f"insert into {table} by name select * from saved where not coalesce({condition}, false)")
    project.sql("drop table saved")


# ---- on what runs have made, every test passes -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good(make_project) -> DbtProject:
    """All engines folded in two batches, projections of them, and each test on all that it is for."""
    files = {
        "models/stage.sql": stage_of(where="sign is not null"),
        "models/stage_first.sql": stage_of(where="not is_deleted"),
        "models/stage_bad.sql": stage_of().replace("select *", f"select {WITHOUT_VERSION}, if(id = 4, null, version) as version"),
    }
    tests: dict[str, list] = {}
    stages = {"deduplicated": "stage_first", "rejecting": "stage_bad"}
    for name, settings in ENGINES.items():
        stage = stages.get(name, "stage")
        files[f"models/{name}.sql"] = model(f"ledger(ref('{stage}'))", settings)
        tests[name] = [complete(stage)]
        if "input" not in settings and settings.get("engine") != "replacing":
            tests[name].append("collapsing.collapsed")
    for ledger, settings in {"versioned": BY_SHOP, "combined_by_arrival": TOTAL}.items():
        files[f"models/sums_of_{ledger}.sql"] = model(f"projection(ref('{ledger}'))", settings)
        tests[f"sums_of_{ledger}"] = ["collapsing.equals_recompute"]
    files["models/tests.yml"] = yaml_of(tests)
    project = make(make_project, "generic_good", files)
    for upto in ("b1", "b3"):
        project.run("run", variables={"upto": upto})
    return project


@pytest.mark.full
def test_all_pass_on_what_runs_have_made(good) -> None:
    findings = found(good)
    assert {name: rows for name, rows in findings.items() if rows} == {}
    assert {model for test, model in findings if test == "complete"} == set(ENGINES)
    assert len(findings) == len(ENGINES) + 9 + 2


# ---- on what no run has made, they fail and name the keys -------------------------------------------------------------------

BY_WEIGHT = {"group_by": ["shop"], "measures": {"weight": "sum(weight)"}}
LEDGERS = ("sound", "changed_rows", "invented", "unnoted", "noted_twice", "rebuilt", "compacted")
# sound ones of other engines: one that looks old rows up by arrival, and one that keeps every row
OTHERS = ("combined_by_arrival", "versioned_signed")
PROJECTIONS = {
    "spoilt": BY_SHOP,
    "wrong_price": BY_SHOP,
    "near": BY_WEIGHT,
    "strict": BY_WEIGHT,
    "far": BY_WEIGHT,
    "lagging": TOTAL,
    "unread": TOTAL,
}
# the live rows of every sound ledger of ORDERS: (id, version, amount)
EXPECTED = [(1, 2, 11), (3, 3, None), (4, 1, 7), (6, 1, 1)]
COLLAPSED = {
    "sound": [],
    "compacted": [],
    "combined_by_arrival": [],
    # of key 1 the counts can be: only the stage tells that they should not
    "changed_rows": [
        ("surplus", '{"id":2}', 1, 0),
        ("surplus", '{"id":4}', 2, 0),
        ("versions_not_rising", '{"id":4}', 1, 0),
        ("cancel_without_state", '{"id":6}', 0, 1),
    ],
    "invented": [("surplus", '{"id":4}', 2, 0), ("versions_not_rising", '{"id":4}', 1, 0)],
}
# Models that only the full run has: others by default show the same findings, or those of the same rule.
IN_FULL = (
    *("invented", "rebuilt", "compacted", "recent", "wrong_price", "far", "unread", "of_rebuilt", "stage_recent", *OTHERS),
    *("noted_twice", "strict"),
)
pytestmark = pytest.mark.only("parquet")  # breaks tables by their partitions


def by_ledger(expected: dict[str, list[tuple]]) -> list:
    """Return the cases of a test, what it finds by ledger, those of the full run marked."""
    return [
        pytest.param(ledger, rows, id=ledger, marks=[pytest.mark.full] * (ledger in IN_FULL)) for ledger, rows in expected.items()
    ]


DOCTORED = """
{%- if execute -%}
{{ collapsing._unaccounted(
    ref('sound'), ref('stage'),
    collapsing._ledger_settings(graph.nodes['model.generic_broken.sound']),
    "(select position, id, version, is_deleted, block, ledger_batch, "
    ~ "if(id = 2 and is_deleted, 'forgotten', decision) as ledger_decision from "
    ~ collapsing.decisions(ref('sound'), ref('stage')) ~ " where id <> 6)"
) }}
{%- endif -%}
-- depends_on: {{ ref('sound') }} {{ ref('stage') }}
"""


@pytest.fixture(scope="module")
def broken(make_project, full: bool) -> tuple[DbtProject, dict[tuple[str, str], list[tuple]]]:
    """Return a project whose tables were changed behind the package's back, and what each test has found in them."""
    equals_seed = with_arguments("equals_seed", seed="ref('expected')", columns=["id", "version", "amount"])
    refused = {"config": {"tags": ["refused"]}}
    files = {
        "models/stage.sql": stage_of(),
        "models/stage_changed.sql": stage_of("changing"),
        "models/stage_recent.sql": stage_of(where="block <> '{{ var('left_out', '') }}'"),
        "models/changed.sql": model("ledger(ref('stage_changed'))", ORDERS),
        "models/recent.sql": model("ledger(ref('stage_recent'))", ORDERS),
        "models/of_rebuilt.sql": model("projection(ref('rebuilt'))", TOTAL),
        # a view in the place of a seed, which would take a command of its own
        "models/expected.sql": f"{VIEW}select * from values {values(EXPECTED)} as t (id, version, amount)",
        "tests/doctored.sql": DOCTORED,
    }
    files |= {f"models/{name}.sql": model("ledger(ref('stage'))", ORDERS) for name in LEDGERS}
    files |= {f"models/{name}.sql": model("ledger(ref('stage'))", ENGINES[name]) for name in OTHERS}
    files |= {f"models/{name}.sql": model("projection(ref('sound'))", settings) for name, settings in PROJECTIONS.items()}
    tests = {name: [complete()] for name in LEDGERS + OTHERS}
    for name in COLLAPSED:
        tests[name].append("collapsing.collapsed")
    tests |= {name: ["collapsing.equals_recompute"] for name in PROJECTIONS}
    tests |= {"changed": [complete("stage_changed")], "recent": [complete("stage_recent")]}
    for name in ("spoilt", "strict"):
        tests[name] = [with_arguments("equals_recompute", float_tolerance=0)]
    for name in ("sound", "changed_rows"):
        tests[name].append(equals_seed)
    tests["of_rebuilt"] = [{"collapsing.equals_recompute": refused}]
    tests["sound"] += [{"collapsing.equals_recompute": refused}]
    tests["spoilt"] += [{"collapsing.complete": refused | complete()["collapsing.complete"]}]
    tests["near"] += [{"collapsing.equals_recompute": refused | given(float_tolerance="much")}]
    tests["stage"] = [{"collapsing.equals_recompute": refused}]
    for name in () if full else IN_FULL:
        del files[f"models/{name}.sql"]
        tests.pop(name, None)
    files["models/tests.yml"] = yaml_of(tests)

    project = make(make_project, "generic_broken", files)
    # with a column that is named as the one that `decisions` adds
    named = "select *, 'x' as decision from generic_broken.arrived"
    project.sql(f"create table generic_broken.changing using parquet as {named}")
    later = [name for name in PROJECTIONS if name != "lagging"]
    project.run("run", "--exclude", *later, variables={"upto": "b1"})
    project.run("run", "--exclude", "lagging", *(["unread"] if full else []), variables={"upto": "b3"})
    if full:
        project.run("run", "--empty", "--select", "unread", variables={"upto": "b3"})
        project.run("run", "--full-refresh", "--select", "rebuilt", variables={"upto": "b3"})
    spoil(project, full)
    return project, found(project, "--store-failures", "--exclude", "tag:refused", "test_type:singular")


def spoil(project: DbtProject, full: bool) -> None:
    """Change tables in the ways that their names say."""
    add_row(project, "changed_rows", "id = 4 and ledger_sign = 1", ledger_batch="2")
    take_row_away(project, "changed_rows", 2, "(id = 1 and ledger_sign = 1 or id = 2 and ledger_sign = -1)")
    add_row(project, "changed_rows", "id = 6", version="7", ledger_sign="-1Y", ledger_batch="2", ledger_block="'b2'")
    take_row_away(project, "unnoted", 2, IS_NOTE_OF_BLOCK)
    for name in ("changed", *(["noted_twice"] if full else [])):
        again = """replace(ledger_note, '"batch":1', '"batch":2')"""
        add_row(project, name, f"{IS_NOTE_OF_BLOCK} and ledger_block = 'b1'", ledger_note=again, ledger_batch="2")
    add_row(project, "changing", "id = 4", id="7", block="'b1'")

    add_part(project, "spoilt", "'b'", ledger_sum_amount="1")
    add_part(project, "spoilt", "null", "true", ledger_sum_weight="0.5D")
    add_part(project, "spoilt", "'n'", "true", ledger_sign="-1")
    add_part(project, "spoilt", "'z'", "true", ledger_sign="1")
    add_part(project, "near", "null", ledger_sum_weight="0.5D")
    add_part(project, "near", "'b'", ledger_sum_weight="double('nan')")
    if full:
        add_part(project, "strict", "null", ledger_sum_weight="0.5D")
        add_row(project, "invented", "id = 4 and ledger_sign = 1", ledger_batch="9")
        project.run("run-operation", "collapsing.optimize", "--args", "{model: compacted}")
        add_part(project, "wrong_price", "'b'", ledger_sum_price="0.01")
        add_part(project, "far", "null", ledger_sum_weight="2D")


def keys(rows: list[tuple]) -> list[tuple]:
    """Return findings of `complete` with their keys as values: (finding, id, block, expected, actual)."""
    return [(row[0], json.loads(row[1])["id"] if row[1] else None, *row[2:]) for row in rows]


@pytest.mark.parametrize(
    ("ledger", "rows"),
    by_ledger(
        {
            "sound": [],
            "rebuilt": [],
            "compacted": [],
            "recent": [],
            **dict.fromkeys(OTHERS, []),
            # key 1 lacks a row; the tombstone of key 2 is there, and the state row that should have been cancelled
            "changed_rows": [
                ("missing_row", 1, "b2", 1, 0),
                ("wrong_live_rows", 2, None, 0, 1),
                ("surplus_row", 4, "b2", 1, 2),
                ("cancel_without_event", 6, None, 0, 1),
            ],
            "invented": [("block_without_note", None, "b2", 0, 1)],
            "unnoted": [("block_without_note", None, "b2", 0, 5), ("block_without_note", None, "b3", 0, 3)],
            "noted_twice": [("block_folded_twice", None, "b1", 1, 2)]
            + [("not_one_decision", id_, "b1", 1, 2) for id_ in (1, 2, 3, 6)],
            # b1 has one more row by now, key 7, and is noted in two batches
            "changed": [("block_changed", None, "b1", 4, 5)] * 2
            + [("block_folded_twice", None, "b1", 1, 2)]
            + [("not_one_decision", id_, "b1", 1, 2) for id_ in (1, 2, 3, 6, 7)],
        }
    ),
)
def test_complete_names_what_is_not_accounted_for(broken, ledger: str, rows: list[tuple]) -> None:
    assert keys(broken[1]["complete", ledger]) == rows


@pytest.mark.parametrize(("ledger", "rows"), by_ledger(COLLAPSED))
def test_collapsed_names_keys_whose_counts_cannot_be(broken, ledger: str, rows: list[tuple]) -> None:
    assert broken[1]["collapsed", ledger] == rows


@pytest.mark.parametrize(
    ("ledger", "rows"),
    {
        "sound": [],
        "changed_rows": [("expected", 1, 2, 11), ("actual", 2, 1, 20), ("actual", 4, 1, 7), ("expected", 6, 1, 1)],
    }.items(),
)
def test_equals_seed_names_the_rows_of_one_side(broken, ledger: str, rows: list[tuple]) -> None:
    assert broken[1]["equals_seed", ledger] == rows


def test_equals_recompute_names_the_groups_that_differ_in_order(broken, full: bool) -> None:
    """The first differs by a share that the default would tolerate, and this test does not."""
    rows = [row[:6] for row in broken[1]["equals_recompute", "spoilt"]]
    assert rows == [
        ("actual", None, True, 1, 1, 7),
        ("expected", None, True, 1, 1, 7),
        ("actual", "b", False, 2, 1, 12),
        ("expected", "b", False, 2, 1, 11),
        ("expected", "n", True, 1, 1, 1),
        ("actual", "z", True, 1, 0, None),
    ]
    if full:
        prices = broken[1]["equals_recompute", "wrong_price"]
        assert [(*row[:2], str(row[7])) for row in prices] == [("actual", "b", "1.38"), ("expected", "b", "1.37")]


def test_equals_recompute_compares_floats_by_a_share_of_themselves(broken, full: bool) -> None:
    _, findings = broken
    # the group of NULL differs by less, and the other by a NaN
    sides = [(row[0], row[1], row[2] == row[2]) for row in findings["equals_recompute", "near"]]
    assert sides == [("actual", "b", False), ("expected", "b", True)]
    for name, weight in {"strict": 1e9 + 0.5, "far": 1e9 + 2}.items() if full else ():
        assert findings["equals_recompute", name] == [("actual", None, weight), ("expected", None, 1e9)]


def test_equals_recompute_compares_a_projection_that_lags_with_what_it_has_read(broken) -> None:
    project, findings = broken
    assert project.visible("lagging") == [-1] and project.visible("sound")[-1] == 2
    assert findings["equals_recompute", "lagging"] == []


@pytest.mark.full
def test_what_a_run_appends_while_a_test_reads_is_no_finding(broken) -> None:
    """A test has been compiled, and a run commits before its query reads."""
    project, _ = broken
    compiled = project.invoke("compile", "--select", "*complete_sound*", "*equals_recompute_lagging_", variables={"upto": "b3"})
    queries = {node.node.test_metadata.name: node.node.compiled_code for node in nodes_of(compiled)}
    assert set(queries) == {"complete", "equals_recompute"}
    project.sql("insert into generic_broken.arrived values (13, 8, 1, false, 1, 'a', 1, 1.0, 1.0, 'b4')")
    project.run("run", "--select", "stage", "sound", "lagging", variables={"upto": "b4"})
    assert {name: project.rows(query) for name, query in queries.items()} == {"complete": [], "equals_recompute": []}


@pytest.mark.full
def test_equals_recompute_does_not_pass_where_a_projection_has_read_nothing(broken) -> None:
    project, findings = broken
    assert project.batches("unread") == []
    assert [row[:2] for row in findings["equals_recompute", "unread"]] == [("expected", 4)]


def test_what_a_test_is_not_for_is_refused(broken, full: bool) -> None:
    project, _ = broken
    result = project.invoke("test", "--select", "tag:refused", variables={"upto": "b3"})
    said = {}
    for node in nodes_of(result):
        assert str(node.status) == "error"
        said[node.node.attached_node.rsplit(".", 1)[1]] = node.message
    if full:
        assert "'rebuilt': final has no state as_of=2: rebuilt was optimized or rebuilt later" in said.pop("of_rebuilt")
    assert "'sound': the test equals_recompute needs a projection; this is a ledger" in said["sound"]
    assert "'spoilt': the test complete needs a ledger; this is a projection" in said["spoilt"]
    assert "float_tolerance of the test equals_recompute must be a number" in said["near"] and "given: much" in said["near"]
    assert "the test equals_recompute needs a model with settings" in said["stage"]
    assert len(said) == 4


@pytest.mark.full
@pytest.mark.parametrize("left_out", ["b1", "b2"])
def test_complete_passes_when_the_stage_has_dropped_blocks(broken, left_out: str) -> None:
    """b1 was a batch of its own, b2 half of one."""
    project, _ = broken
    project.run("run", "--select", "stage_recent", variables={"upto": "b3", "left_out": left_out})
    assert found(project, "--select", "recent") == {("complete", "recent"): []}


def test_complete_names_a_missing_decision_and_one_that_is_not_documented(broken) -> None:
    project, _ = broken
    [doctored] = nodes_of(project.invoke("test", "--select", "doctored", variables={"upto": "b3"}))
    assert str(doctored.status) == "fail"
    assert keys(project.rows(doctored.node.compiled_code)) == [
        ("cancel_without_event", 2, None, 0, 1),
        ("surplus_row", 2, "b2", 0, 1),
        ("unknown_decision", 2, "b2", 0, 1),
        ("not_one_decision", 6, "b1", 1, 0),
        ("surplus_row", 6, "b1", 0, 1),
        ("not_one_decision", 6, "b2", 1, 0),
    ]
