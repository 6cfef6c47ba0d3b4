"""Projections of every measure over every type: after each block of a random history equal to the aggregate of the live rows."""

from __future__ import annotations

import datetime as dt
import math
import random
import re
from collections.abc import Callable
from decimal import Decimal

import pytest

from support.dbt_project import LEDGER, VIEW, model
from support.targets import PLAIN

BLOCKS = 5
COLUMNS = {
    "id": "int",
    "version": "int",
    "is_deleted": "boolean",
    "shop": "string",
    "at": "timestamp",
    "amount": "bigint",
    "small": "tinyint",
    "price": "decimal(38, 18)",
    "points": "decimal(10, 0)",
    "tenths": "decimal(12, 1)",
    "ratio": "double",
    "weight": "float",
    "wild": "double",
    "name": "string",
    "day": "date",
    "raw": "binary",
    "flag": "boolean",
    "pair": "struct<a: int, b: string>",
    "list": "array<int>",
    "took": "interval day to second",
    "tags": "map<string, int>",
}

SUMMED = ["amount", "small", "price", "points", "tenths", "ratio", "weight"]
COMPARED = ["day", "raw", "flag", "pair", "list", "took", "at", "wild"]
MIXED = {
    "n": "count(*)",
    "whole": "sum(case when amount > 0 then amount end)",
    "pairs": "count( DISTINCT(nullif(name, 'a, b')) )",
    "lower": "min(lower(name))",
    "least": "min(name)",
    "names": "count(distinct name)",
    "Took": "sum(took)",
    "mean_took": "avg(took)",
}


def measures(columns: list[str], *aggregates: str) -> dict[str, str]:
    """Return a measure for each aggregate of each column; an aggregate is what stands before the column."""
    return {
        f"{aggregate.replace('(', '_').replace(' ', '_')}{column}": f"{aggregate}{column})"
        for column in columns
        for aggregate in aggregates
    }


BY_HOUR = {
    "group_by": {"shop": "shop", "hour": "date_trunc('hour', at)"},
    "measures": {
        "n": "count(*)",
        "known": "count(amount)",
        "amount": "sum(amount)",
        "price": "sum(price)",
        "points": "sum(points)",
        "ratio": "sum(ratio)",
        "mean": "avg(amount)",
        "least": "min(name)",
        "greatest": "max(name)",
        "latest": "max(at)",
        "names": "count(distinct name)",
    },
}
CHOSEN = {
    "group_by": {"shop": "shop", "hour": "date_trunc('hour', at)"},
    "measures": {
        "n": "count(*)",
        "far": "count_if(ratio > 1)",
        "price": "sum(price) filter (where flag)",
        "ratio": "sum(ratio) filter (where not flag)",
        "days": "count(distinct day) filter (where amount > 0)",
        "of_days": "max(day) filter (where amount > 0)",
        "last": "max(at)",
    },
}
SETTINGS = {
    "sums": {"group_by": {"shop": "shop", "even": "id % 2 = 0"}, "measures": measures(SUMMED, "sum(", "avg(", "count(")},
    "numbers": {"group_by": ["shop"], "measures": measures(SUMMED, "min(", "max(", "count(distinct ") | {"total": "sum(ratio)"}},
    "others": {"group_by": ["shop", "small"], "measures": measures(COMPARED, "min(", "max(", "count(distinct ")},
    "mixed": {"group_by": {"shop": "shop", "even": "id % 2 = 0"}, "measures": MIXED},
    "of_all": {
        "group_by": [],
        "measures": {"n": "count(*)", "least": "min(name)", "ratio": "sum(ratio)", "names": "count(distinct name)"},
    },
    "only_values": {"group_by": ["shop"], "measures": {"days": "count(distinct day)"}},
    "only_sums": {"group_by": ["shop"], "measures": {"n": "count(*)", "amount": "sum(amount)", "known": "count(price)"}},
    "by_hour": BY_HOUR,
    "chosen": CHOSEN,
}


def aggregate(name: str) -> str:
    """Return the plain SQL of what a projection must equal, over the final of its ledger."""
    settings = SETTINGS[name]
    groups = settings["group_by"]
    groups = groups if isinstance(groups, dict) else {column: column for column in groups}
    selected = {**groups, **settings["measures"]}
    grouped = "group by " + ", ".join(f"({sql})" for sql in groups.values()) if groups else "having count(*) > 0"
    return f"select {', '.join(f'{sql} as {column}' for column, sql in selected.items())} from events_final {grouped}"


def differing(project, name: str) -> list[tuple]:
    """Return rows by which a projection differs from the aggregate of its ledger's final."""
    actual, expected = f"select * from {name}_final", aggregate(name)
    return project.rows(
        f"(select 'only in the projection' as row, * from ({actual} except all {expected}))"
        f" union all (select 'only in the aggregate' as row, * from ({expected} except all {actual})) limit 5"
    )


def history(seed: int) -> list[list[dict]]:
    """Return blocks of random events: inserts, updates, deletes, late and repeated ones, with NULLs, few values of a column."""
    draw = random.Random(seed)
    choices = {
        "shop": ["north", "south", "North", None],
        "at": [dt.datetime(2013, 1, day, hour, minute, 59, 999_999) for day in (1, 2) for hour in (0, 23) for minute in (0, 30)],
        "amount": [0, 1, -1, 2**40, -(2**40), 7],
        "small": [-128, 127, 0, 5],
        "price": [Decimal(text) for text in ("0", "1.000000000000000001", "-1.000000000000000001", "12345678901234.5")],
        "points": [Decimal(number) for number in (0, 1, 2, -5)],
        "tenths": [Decimal(text) for text in ("0.1", "-0.7", "99999999999.9")],
        "ratio": [0.0, -0.0, 0.25, -1.5, 1e10],
        "weight": [0.0, -0.0, 0.5],
        "wild": [0.0, -0.0, math.nan, math.inf, -math.inf],
        "name": ["a", "A", "a ", " a", "", "a, b", "it's", "é", "e\u0301"],
        "day": [dt.date(2013, 1, 1), dt.date(1582, 10, 4), dt.date(9999, 12, 31)],
        "raw": [b"", b"\x00", b"a", b"\xff"],
        "flag": [True, False],
        "pair": [(1, "a"), (1, None), (None, None), (2, "A")],
        "list": [[], [1], [1, None], [2, 1]],
        "took": [dt.timedelta(0), dt.timedelta(seconds=-90), dt.timedelta(days=400, microseconds=1)],
        "tags": [{"x": 1}],
    }
    blocks: list[list[dict]] = [[] for _ in range(BLOCKS)]
    for number in range(60):
        for version in range(draw.choice([1, 1, 2, 3, 5])):
            event = {"id": number, "version": version, "is_deleted": version > 0 and draw.random() < 0.35}
            event |= {name: None if draw.random() < 0.25 else draw.choice(values) for name, values in choices.items()}
            for _ in range(draw.choice([1, 1, 1, 2])):
                draw.choice(blocks).append(event)
    # a key that lives for one block only, and is alone in its group
    event = dict.fromkeys(COLUMNS) | {"id": 1000, "version": 1, "is_deleted": False, "shop": "short", "name": "alone"}
    blocks[1].append(event)
    blocks[3].append(event | {"version": 2, "is_deleted": True})
    return blocks


FILES = {
    "models/stage.sql": VIEW + "select * from every.arrived",
    "models/events.sql": model("ledger(ref('stage'))", LEDGER),
    **{f"models/{name}.sql": model("projection(ref('events'))", settings) for name, settings in SETTINGS.items()},
    **{
        f"models/{name}_final.sql": VIEW + f"select * from {{{{ collapsing.final(ref('{name}')) }}}}"
        for name in ["events", *SETTINGS]
    },
}
CHAIN = ["stage", "events", *SETTINGS]


def of_every_type(test: Callable) -> Callable:
    """Mark a test of the full run for plain parquet: Iceberg and Delta do not store all types."""
    return pytest.mark.full(pytest.mark.only(*PLAIN)(test))


@pytest.fixture(scope="module")
def every(make_project, spark):
    """Fold a random history block by block; returns (project, and by (block, projection): rows that differ, how many groups)."""
    project = make_project("every", FILES)
    project.sql("create schema if not exists every")
    schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items()) + ", block int"
    wrong, groups = {}, {}
    for number, block in enumerate(history(seed=20261122), 1):
        rows = [(*event.values(), number) for event in ({name: event[name] for name in COLUMNS} for event in block)]
        spark.createDataFrame(rows, schema).coalesce(1).write.mode("append").saveAsTable("every.arrived")
        project.run("run", "--select", *CHAIN)
        if number == 1:
            project.run("run", "--select", *[f"{name}_final" for name in ["events", *SETTINGS]])
        for name in SETTINGS:
            wrong[number, name] = differing(project, name)
            groups[number, name] = project.rows(f"select count(*) from {name}_final")[0][0]
    return project, wrong, groups


@of_every_type
@pytest.mark.parametrize("name", SETTINGS)
def test_a_projection_equals_the_aggregate_of_the_live_rows_after_each_block(every, name: str) -> None:
    _, wrong, groups = every
    assert {block: rows for (block, of), rows in wrong.items() if of == name and rows} == {}
    assert all(count > 0 for (_, of), count in groups.items() if of == name)


@of_every_type
def test_the_history_has_what_it_is_to_show(every) -> None:
    project, *_ = every
    signs = dict(project.rows("select ledger_sign, count(*) from events group by 1"))
    assert min(signs[-1], signs[0], signs[1]) > 10
    gone = "having sum(ledger_count_least) = 0 and max(ledger_count_least) > 0"
    assert project.rows(f"select 1 from by_hour group by shop, hour, ledger_value_least {gone}")
    assert project.rows("select 1 from others_final where isnan(max_wild)")
    assert project.rows("select batch from (select count(distinct ledger_batch) as batch from mixed)") == [(BLOCKS,)]
    assert project.rows("select shop from only_values_final where shop = 'short'") == []
    assert project.rows("select shop from only_values where shop = 'short'") != []


@of_every_type
def test_what_is_read_is_the_same_with_ansi_on(every) -> None:
    project, *_ = every
    _ansi(project, True)
    try:
        for name in SETTINGS:
            assert differing(project, name) == [], name
    finally:
        _ansi(project, False)


@of_every_type
def test_what_is_appended_is_the_same_with_ansi_on(every) -> None:
    project, *_ = every
    appended = {}
    for ansi in (False, True):
        _ansi(project, ansi)
        try:
            for name in SETTINGS:
                sql = (project.target / "compiled" / "every" / "models" / f"{name}.sql").read_text()
                sql = sql.replace("ledger_batch > ", "0 < ")
                appended[name, ansi] = sorted(map(repr, project.rows(sql)))
        finally:
            _ansi(project, False)
    for name in SETTINGS:
        assert appended[name, True] == appended[name, False] != []


def _ansi(project, on: bool) -> None:
    project.sql(f"set spark.sql.ansi.enabled = {str(on).lower()}")


@of_every_type
def test_a_projection_without_values_is_the_table_it_was(every) -> None:
    project, *_ = every
    assert project.sql("select * from only_sums").dtypes == [
        ("shop", "string"),
        ("ledger_count_amount", "bigint"),
        ("ledger_sum_amount", "decimal(30,0)"),
        ("ledger_count_known", "bigint"),
        ("ledger_sign", "bigint"),
        ("ledger_batch", "int"),
    ]
    counted = "select shop, ledger_batch from only_sums where ledger_count_known is not null"
    assert project.rows(f"{counted} group by 1, 2 having count(*) > 1") == []


@of_every_type
def test_measures_of_one_argument_share_one_column_of_values(every) -> None:
    project, *_ = every
    names = [name for name, _ in project.sql("select * from by_hour").dtypes if name.startswith(("ledger_value_", "ledger_part"))]
    assert names == ["ledger_value_least", "ledger_value_latest", "ledger_part"]
    kinds = dict(project.sql("select * from others").dtypes) | dict(project.sql("select * from mixed").dtypes)
    assert kinds["ledger_value_min_day"] == "date" and kinds["ledger_value_min_raw"] == "binary"


@of_every_type
def test_rows_of_values_are_told_from_rows_of_groups(every) -> None:
    project, *_ = every
    assert project.rows(
        "select ledger_part, ledger_value_least is null, ledger_value_latest is null, ledger_sum_amount is null and "
        "ledger_count_amount is null, ledger_count_least is null, ledger_count_latest is null, bool_and(ledger_sign = 0) "
        "from by_hour where ledger_part > 0 group by 1, 2, 3, 4, 5, 6 order by 1"
    ) == [(1, False, True, True, False, True, True), (2, True, False, True, True, False, True)]
    assert (
        project.rows(
            "select 1 from by_hour where ledger_part = 0 and (ledger_value_least is not null or ledger_count_latest is not null)"
        )
        == []
    )
    assert project.rows("select 1 from by_hour where ledger_count_least = 0 or ledger_count_latest = 0") == []
    assert project.rows("select sum(ledger_sign) from by_hour") == project.rows("select count(*) from events_final")


@of_every_type
def test_the_final_holds_no_literal_of_the_data(every) -> None:
    project, *_ = every
    for name in SETTINGS:
        project.run("compile", "--select", f"{name}_final")
        text = (project.target / "compiled" / "every" / "models" / f"{name}_final.sql").read_text()
        for literal in ("'a'", "north", "2013"):
            assert literal not in text
        assert set(re.findall(r"ledger_batch [<>=]+ -?(\d+)", text)) == {"0"}


@of_every_type
def test_a_rebuilt_ledger_makes_its_projections_rebuild_themselves(every) -> None:
    project, *_ = every
    project.run("run", "--full-refresh", "--select", "events")
    project.run("run", "--select", *CHAIN[2:])
    for name in SETTINGS:
        assert project.visible(name) == [-BLOCKS - 1]
        assert differing(project, name) == []


EDGES = "id int, version int, is_deleted boolean, label string, x double, n bigint, price decimal(38, 18), big decimal(38, 0)"
EDGE_SETTINGS = {
    "floats": {"total": "sum(x)", "mean": "avg(x)", "least": "min(x)", "greatest": "max(x)", "different": "count(distinct x)"},
    "totals": {"total": "sum(n)", "least": "min(n)"},
    "means": {"mean": "avg(n)"},
    "prices": {"total": "sum(price)", "mean": "avg(price)", "greatest": "max(price)"},
    "huge": {"total": "sum(big)", "different": "count(distinct big)"},
    "huge_means": {"mean": "avg(big)"},
    "bursts": {"total": "sum(case when label = 'burst' then big end)"},
}


@pytest.fixture(scope="module")
def edges(make_project):
    """A project, and a function that lands and folds one block, whose rows are SQL, and makes views that are not there yet."""
    files = {
        "models/stage.sql": VIEW + "select * from edges.arrived",
        "models/rows.sql": model("ledger(ref('stage'))", LEDGER),
    }
    for name, of in EDGE_SETTINGS.items():
        files[f"models/{name}.sql"] = model("projection(ref('rows'))", {"group_by": ["label"], "measures": of})
        files[f"models/{name}_final.sql"] = VIEW + f"select * from {{{{ collapsing.final(ref('{name}')) }}}}"
    project = make_project("edges", files)
    project.sql("create schema if not exists edges")
    project.sql(f"create table edges.arrived ({EDGES}, block string) using parquet")

    project.run("run", "--select", "stage")
    viewed: set[str] = set()

    def fold(block: str, rows: str, columns: str, *models: str) -> None:
        project.sql(f"insert into edges.arrived ({columns}, block) select *, '{block}' from values {rows}")
        project.run("run", "--select", "rows", *models, *[f"{name}_final" for name in models if name not in viewed])
        viewed.update(models)

    return project, fold


def test_what_is_not_finite_stays_in_its_sum_until_an_optimize_and_a_rebuild(edges, full: bool) -> None:
    """While it is there, the sum is Spark's own; so is one of finite floats that passes the greatest double.

    The optimize and the rebuild only with --full.
    """
    project, fold = edges
    columns = "id, version, is_deleted, label, x"
    nan, infinity, minus = (f"double('{text}')" for text in ("nan", "infinity", "-infinity"))
    fold(
        "floats 1",
        f"(1, 1, false, 'nan', {nan}), (2, 1, false, 'nan', 1.5D), (3, 1, false, 'both', {infinity}), (4, 1, false, 'both', "
        f"{minus}), (5, 1, false, 'far', 1e308D), (6, 1, false, 'far', 1e308D), (7, 1, false, 'gone', 0.1D), "
        "(8, 1, false, 'gone', null)",
        columns,
        "floats",
    )
    sparks = "label, sum(x), avg(x), min(x), max(x), count(distinct x) from edges.arrived where block = 'floats 1' group by label"
    found = repr(project.rows("select * from floats_final order by label"))
    assert found == repr(project.rows(f"select {sparks} order by label"))
    gone = ", ".join(f"({id_}, 2, true, null, null)" for id_ in (1, 4, 6, 7))
    fold("floats 2", gone, columns, "floats")
    read = "select label, cast(total as string), greatest from floats_final order by label"
    left = [("both", "NaN", math.inf), ("far", "Infinity", 1e308), ("gone", None, None), ("nan", "NaN", 1.5)]
    assert project.rows(read) == left
    if not full:
        return
    project.run("run-operation", "collapsing.optimize", "--args", "{model: rows}")
    project.run("run", "--full-refresh", "--select", "floats")
    rebuilt = [("both", "Infinity", math.inf), ("far", "1.0E308", 1e308), ("gone", None, None), ("nan", "1.5", 1.5)]
    assert project.rows(read) == rebuilt


def _fails_to_read(project, name: str, measure: str, label: str) -> None:
    """Read a group that must fail, with ANSI on and off, by an error that names the projection and the measure."""
    for ansi in (False, True):
        _ansi(project, ansi)
        try:
            with pytest.raises(Exception, match=f"collapsing: projection '{name}': measure '{measure}' does not fit its type"):
                project.rows(f"select * from {name}_final where label = '{label}'")
        finally:
            _ansi(project, False)


def test_integers_and_decimals_overflow_only_where_the_total_does(edges, full: bool) -> None:
    """Integers at both ends. Decimals keep every digit."""
    project, fold = edges
    columns, huge = "id, version, is_deleted, label, n, price, big", ("huge", "huge_means")
    greatest, least = 2**63 - 1, "cast('-9223372036854775808' as bigint)"
    price, more = "12345678901234567890.123456789012345678BD", "12345678901234567890.123456789012345680BD"
    digit, nines = "0.000000000000000001BD", "9" * 38 + "BD"
    rows = [
        *(f"(30, 1, false, 'up', {greatest}L, null, null)", f"(31, 1, false, 'down', {least}, null, null)"),
        *(f"(50, 1, false, 'd', null, {price}, {nines})", f"(51, 1, false, 'd', null, {digit}, -1BD)"),
    ]
    fold("numbers 1", ", ".join(rows), columns, "totals", "prices", *huge)
    rows = [
        *(f"(32, 1, false, 'up', {least}, null, null)", f"(33, 1, false, 'down', {greatest}L, null, null)"),
        *(f"(50, 2, false, 'd', null, {more}, {nines})", f"(52, 1, false, 'd', null, -{price}, 0BD)"),
    ]
    fold("numbers 2", ", ".join(rows), columns, "totals", "means", "prices", *huge)
    read = "select * from totals_final where label in ('up', 'down') order by label"
    assert project.rows(read) == [("down", -1, -(2**63)), ("up", -1, -(2**63))]
    ends = {"up": (f"{greatest}L", (40, 41)), "down": (least, (42, 43))}
    sums = "select total, greatest from prices_final where label = 'd'"
    assert project.rows(sums) == [(Decimal(3).scaleb(-18), Decimal(more.rstrip("BD")))]
    assert project.rows("select mean from prices_final where label = 'd'") == [(Decimal("0.0000000000000000010000"),)]
    assert project.rows("select total, different from huge_final where label = 'd'") == [(Decimal(10**38 - 2), 3)]
    _fails_to_read(project, "huge_means", "mean", "d")  # which has more than 32 digits
    if not full:
        return
    rows = [f"({id_}, 1, false, '{label}', {value}, null, null)" for label, (value, ids) in ends.items() for id_ in ids]
    fold("numbers 3", ", ".join([*rows, f"(53, 1, false, 'd', null, {digit}, {nines})"]), columns, "totals", "means", *huge)
    _fails_to_read(project, "huge", "total", "d")
    _fails_to_read(project, "huge_means", "mean", "d")
    for label, mean in (("up", 2**63 / 2), ("down", -(2**63) / 2)):
        _fails_to_read(project, "totals", "total", label)
        count = f"select mean * 4 from means_final where label = '{label}'"
        assert project.rows(count) == [(pytest.approx(mean * 4, rel=1e-15),)], "a mean of integers is a double: it fits"
    gone = ", ".join(f"({id_}, 2, true, null, null, null, null)" for id_ in range(40, 44))
    fold("numbers 4", gone, columns, "totals")
    assert project.rows(read) == [("down", -1, -(2**63)), ("up", -1, -(2**63))]


def test_a_batch_whose_sum_does_not_fit_stops_the_run_and_appends_nothing(edges) -> None:
    project, fold = edges
    columns, nines = "id, version, is_deleted, label, big", "9" * 38 + "BD"
    fold("burst 1", f"(60, 1, false, 'burst', {nines})", columns, "bursts")
    rows = f"(61, 1, false, 'burst', {nines}), (62, 1, false, 'burst', {nines}), (63, 1, false, 'quiet', {nines})"
    with pytest.raises(AssertionError, match="projection 'bursts': measure 'total' does not fit its type"):
        fold("burst 2", rows, columns, "bursts")
    assert project.rows("select total from bursts_final where label = 'burst'") == [(Decimal(10**38 - 1),)]
