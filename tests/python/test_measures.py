"""Measures with a condition, kept as rows change, and what is no measure, no group or nothing that a projection reads."""

from __future__ import annotations

import pytest

from support.dbt_project import LEDGER, VIEW, DbtProject, model

SALES = {
    "n": "count(*)",
    "paid": "count_if(state = 'paid')",
    "large": "count(*) filter (where amount > 5)",
    "known": "count(state) FILTER ( WHERE amount > 5 and (state <> ')' or true) )",
    "sums": "sum(amount) filter (where state = 'paid')",
    "mean": "avg(amount) filter (where state = 'paid')",
    "least": "min(amount) filter (where state = 'paid')",
    "greatest": "max(amount) filter (where state = 'paid')",
    "states": "count(distinct state) filter (where amount > 5)",
    "last_at": "MAX(at)",
}
PROJECTIONS = {
    "sales": {"group_by": {"shop": "shop", "day": "cast(at as int)"}, "measures": SALES},
    "of_all": {"group_by": [], "measures": {"n": "count(*)", "paid": "count_if(state = 'paid')"}},
}
TESTED = "models: [" + ", ".join(f"{{name: {name}, data_tests: [collapsing.equals_recompute]}}" for name in PROJECTIONS) + "]"
NO_MEASURE = "must be count(*), count(x), count_if(c), count(distinct x), sum(x), avg(x), min(x) or max(x)"
WRONG_MEASURES = {
    "count_if(amount > 1, 2)": NO_MEASURE,
    "max_by(state, at)": NO_MEASURE,
    "count(distinct state, amount)": NO_MEASURE,
    "sum(amount) / count(*)": NO_MEASURE,
    "sum(amount) filter (where a, b)": "given: sum(amount) filter (where a, b)",
    "sum(amount) filter (amount > 1)": "given: sum(amount) filter (amount > 1)",
    "sum(amount) filter (where )": "given: sum(amount) filter (where )",
    "sum(amount) + sum(id)": "given: sum(amount) + sum(id)",
    "count_if(amount)": "setting 'measures.wrong' must be SQL that Spark can evaluate over a row; given: count_if(amount)",
    "sum(state)": "measure 'wrong': sum(state) adds values of type string; allowed: numbers",
    "max(map(1, id))": "measure 'wrong': max(map(1, id)) compares values of type map<int,int>; allowed",
    "sum(amount) filter (where rand() < 0.5)": "setting 'measures.wrong' must be SQL over the row's own columns",
}
WRONG_GROUPS = {
    "current_date()": "setting 'group_by.wrong' must be SQL over the row's own columns, which gives the same value each time",
    "input_file_name()": "setting 'group_by.wrong' must be SQL over the row's own columns",
    "ledger_sign": "setting 'group_by.wrong' must be SQL over the row's own columns",
    "(select 1)": "setting 'group_by.wrong' must be SQL over the row's own columns",
    "nobody": "setting 'group_by.wrong' must be SQL that Spark can evaluate over a row; given: nobody",
    "map(1, id)": "setting 'group_by.wrong' must be SQL of a type that compares and orders",
}
COUNT = {"n": "count(*)"}
WRONG = [({"group_by": [], "measures": {"wrong": sql}}, says) for sql, says in WRONG_MEASURES.items()]
WRONG += [({"group_by": {"wrong": sql}, "measures": COUNT}, says) for sql, says in WRONG_GROUPS.items()]
REFUSED = {
    "over_sales": (
        model("projection(ref('sales'))", {"group_by": ["shop"], "measures": {"n": "sum(n)"}}),
        "sums of sums are a view over final of a projection. It reads",
    ),
    "over_stage": (
        model("projection(ref('stage'))", {"group_by": [], "measures": COUNT}),
        "a projection reads exactly one ledger (a model whose settings say how its rows collapse), through ref()",
    ),
    "of_sign": (
        model("projection(ref('signed'))", {"group_by": {"kind": "concat('sign', `version_sign`)"}, "measures": COUNT}),
        "setting 'group_by.kind' reads the column 'version_sign' of rows that carry their sign",
    ),
    "as_of_sales": (
        VIEW + "select * from {{ collapsing.final(ref('sales'), as_of=1) }}",
        "model 'sales': final's as_of must be the number of a batch, and what is read a ledger; given: 1 of a projection",
    ),
    "as_of_text": (
        VIEW + "select * from {{ collapsing.final(ref('events'), as_of='2013-01-01') }}",
        "model 'events': final's as_of must be the number of a batch, and what is read a ledger; given: \"2013-01-01\"",
    ),
}
REFUSED |= {
    f"wrong_{number}": (model("projection(ref('events'))", settings), says) for number, (settings, says) in enumerate(WRONG)
}
SIGNED = {"engine": "collapsing", "input": "signed", "key": "id", "sign": "version_sign", "order_by": "version", "block": "block"}


def _files() -> dict[str, str]:
    files = {
        "models/stage.sql": VIEW + "select * from measured.arrived",
        "models/tests.yml": f"version: 2\n{TESTED}\n",
        "models/events.sql": model("ledger(ref('stage'))", LEDGER),
        "models/signed_stage.sql": VIEW
        + "select id, version, 1 as version_sign, shop, block from measured.arrived where block = 1",
        "models/signed.sql": model("ledger(ref('signed_stage'))", SIGNED),
        # text in a literal and the count of a column tell nothing of a row's sign
        "models/of_signed.sql": model(
            "projection(ref('signed'))",
            {"group_by": {"kind": "concat(shop, ' version_sign')"}, "measures": {"n": "count(version_sign)"}},
        ),
    }
    for name, settings in PROJECTIONS.items():
        files[f"models/{name}.sql"] = model("projection(ref('events'))", settings)
        files[f"models/{name}_final.sql"] = VIEW + f"select * from {{{{ collapsing.final(ref('{name}')) }}}}"
    return files | {f"models/{name}.sql": sql for name, (sql, _) in REFUSED.items()}


@pytest.fixture(scope="module")
def measured(make_project) -> DbtProject:
    """A ledger of sales with projections of every measure, after a first block."""
    project = make_project("measured", _files())
    project.sql("create schema if not exists measured")
    columns = "id int, version int, is_deleted boolean, shop string, at double, state string, amount int, block int"
    project.sql(f"create table measured.arrived ({columns}) using parquet")
    _arrive(
        project,
        1,
        "1, 1, false, 'north', 1, 'new', 7",
        "2, 1, false, 'north', 1, 'paid', 9",
        "3, 1, false, 'north', 1.5, null, 3",
        "4, 1, false, 'south', 1, 'paid', 0",
        "5, 1, false, 'south', 1, 'paid', null",
        "6, 1, false, 'south', null, 'late', 8",
    )
    project.run("run", "--exclude", *REFUSED)
    return project


def _arrive(project: DbtProject, block: int, *rows: str) -> None:
    project.sql(f"insert into measured.arrived values {', '.join(f'({row}, {block})' for row in rows)}")


def _rows(project: DbtProject, name: str, *measures: str) -> list[tuple]:
    return project.rows(f"select {', '.join(measures)} from {name}_final order by all")


def test_measures_follow_rows_that_change_and_vanish(measured) -> None:
    told = ("shop", "day", "paid", "large", "known", "sums", "mean", "least", "greatest", "states", "last_at")
    assert _rows(measured, "sales", *told) == [
        ("north", 1, 1, 2, 2, 9, 9.0, 9, 9, 2, 1.5),
        ("south", None, 0, 1, 1, None, None, None, None, 1, None),
        ("south", 1, 2, 0, 0, 0, 0.0, 0, 0, 0, 1.0),
    ]
    _arrive(measured, 2, "3, 2, true, null, null, null, null", "2, 2, false, 'south', 2, 'back', 9", "7, 1, true, '', 1, '', 1")
    measured.run("run", "--select", "events", *PROJECTIONS)
    assert _rows(measured, "sales", *told) == [
        ("north", 1, 0, 1, 1, None, None, None, None, 1, 1.0),
        ("south", None, 0, 1, 1, None, None, None, None, 1, None),
        ("south", 1, 2, 0, 0, 0, 0.0, 0, 0, 0, 1.0),
        ("south", 2, 0, 1, 1, None, None, None, None, 1, 2.0),
    ]


def test_every_measure_passes_the_test_of_a_projection_and_a_wrong_one_does_not(measured, full: bool) -> None:
    assert set(measured.run("test", "--select", *PROJECTIONS).values()) == {"pass"}
    measured.sql("create table groups_alone using parquet as select * from sales where ledger_batch = 2 and ledger_part = 0")
    measured.drop_batch("sales", 2)
    measured.sql("insert into sales select * from groups_alone")
    measured.fails("test", "--select", "sales")
    if full:
        measured.run("run", "--select", "sales", "--full-refresh")
        assert set(measured.run("test", "--select", "sales").values()) == {"pass"}


def test_another_condition_builds_a_projection_again(measured) -> None:
    settings = PROJECTIONS["of_all"]
    changed = settings | {"measures": settings["measures"] | {"paid": "count_if(state = 'back')"}}
    measured.write("models/of_all.sql", model("projection(ref('events'))", changed))
    assert measured.visible("of_all") == [-1, 2]
    measured.run("run", "--select", "of_all")
    assert measured.visible("of_all") == [-2]
    assert measured.rows("select n, paid from of_all_final") == [(5, 1)]


def test_what_a_projection_is_not_for_is_an_error_that_says_why(measured) -> None:
    said = measured.failures("run", "--select", *REFUSED)
    assert not {name: said[name] for name, (_, says) in REFUSED.items() if says not in said[name]}


@pytest.mark.full
def test_as_many_values_as_spark_groups_by_are_kept_of_all_rows(measured) -> None:
    measures = {f"m{number}": f"min(id + {number})" for number in range(64)}
    measured.write("models/widest.sql", model("projection(ref('events'))", {"group_by": [], "measures": measures}))
    least = "(select min(id) from {{ collapsing.final(ref('events')) }}) as least"
    measured.write("models/widest_final.sql", VIEW + f"select m0, m63, {least} from {{{{ collapsing.final(ref('widest')) }}}}")
    measured.run("run", "--select", "widest", "widest_final")
    [(first, last, least)] = measured.rows("select * from widest_final")
    assert first == least and last == least + 63
