"""Measures with a condition, values by another column, and quotients of measures: kept as rows change, in rollups too."""

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
    "states": "count(distinct state, amount) filter (where amount > 5)",
    "last_state": "max_by(state, at)",
    "first_state": "min_by(state, at)",
    "last_at": "max(at)",
    "last_paid": "MAX_BY(id, at) filter (where state = 'paid')",
    "share": "`paid` / n",
    "of_paid": "sums/paid",
    "spread": "greatest / least",
}
TOTALS = {
    "n": "sum(n)",
    "paid": "sum(paid)",
    "sums": "sum(sums)",
    "last_at": "max(last_at)",
    "last_state": "max_by(last_state, `last_at`)",
    "share": "paid / n",
}
RUNS = ("events", "sales", "by_shop", "totals", "of_all")
GROUPS = {"sales": {"shop": "shop", "day": "cast(at as int)"}, "by_shop": ["shop"], "totals": {"north": "shop = 'north'"}}
PROJECTIONS = {
    "sales": ("events", {"group_by": GROUPS["sales"], "measures": SALES}),
    "by_shop": ("sales", {"group_by": GROUPS["by_shop"], "measures": TOTALS}),
    "totals": ("by_shop", {"group_by": GROUPS["totals"], "measures": TOTALS}),
    "of_all": ("events", {"group_by": [], "measures": {"share": "paid / n"} | {name: SALES[name] for name in ("n", "paid")}}),
}
TESTED = "models: [" + ", ".join(f"{{name: {name}, data_tests: [collapsing.equals_recompute]}}" for name in PROJECTIONS) + "]"
WRONG = {
    "count_if(amount > 1, 2)": "must be count(*), count(x), count_if(c), sum(x)",
    "max_by(state)": "must be count(*), count(x), count_if(c), sum(x)",
    "sum(amount) filter (where a, b)": "given: sum(amount) filter (where a, b)",
    "sum(amount) filter (amount > 1)": "given: sum(amount) filter (amount > 1)",
    "sum(amount) filter (where )": "given: sum(amount) filter (where )",
    "sum(amount) + sum(id)": "given: sum(amount) + sum(id)",
    "n / nobody": "must be a quotient of two other measures that are not quotients themselves (n, last); given: n / nobody",
    "n / wrong": "must be a quotient of two other measures that are not quotients themselves (n, last); given: n / wrong",
    "last / n": "measure 'wrong': last / n divides values of type string; allowed: numbers",
    "count_if(amount)": "Spark says: ",
    "max_by(map(1, id), at)": "compares values of type struct<value_1:double,value_2:map<int,int>>; allowed",
    "sum(amount) filter (where rand() < 0.5)": "SQL over the row's own columns, which gives the same whenever it is evaluated",
}
WRONG_OF_SALES = (
    "max_by(last_state, n)",
    "min_by(last_state, last_at)",
    "sum(share)",
    "count_if(n > 1)",
    "sum(n) filter (where n > 1)",
)


def _files() -> dict[str, str]:
    files = {"models/stage.sql": VIEW + "select * from measured.arrived", "models/tests.yml": f"version: 2\n{TESTED}\n"}
    files["models/events.sql"] = model("ledger(ref('stage'))", LEDGER)
    for name, (source, settings) in PROJECTIONS.items():
        files[f"models/{name}.sql"] = model(f"projection(ref('{source}'))", settings)
        files[f"models/{name}_final.sql"] = VIEW + f"select * from {{{{ collapsing.final(ref('{name}')) }}}}"
    wrong = [("events", sql, {"n": "count(*)", "last": "max_by(state, at)"}) for sql in WRONG]
    wrong += [("sales", sql, {}) for sql in WRONG_OF_SALES]
    for number, (source, sql, others) in enumerate(wrong):
        settings = {"group_by": [], "measures": others | {"wrong": sql}}
        files[f"models/wrong_{number}.sql"] = model(f"projection(ref('{source}'))", settings)
    return files


@pytest.fixture(scope="module")
def measured(make_project) -> DbtProject:
    """A ledger of sales with projections of every measure, and rollups of them, after a first block."""
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
    project.run("run", "--exclude", *[f"wrong_{number}" for number in range(len(WRONG) + len(WRONG_OF_SALES))])
    return project


def _arrive(project: DbtProject, block: int, *rows: str) -> None:
    project.sql(f"insert into measured.arrived values {', '.join(f'({row}, {block})' for row in rows)}")


def _rows(project: DbtProject, name: str, *measures: str) -> list[tuple]:
    return project.rows(f"select {', '.join(measures)} from {name}_final order by all")


def test_measures_follow_rows_that_change_and_vanish(measured) -> None:
    told = ("shop", "day", "paid", "large", "known", "sums", "mean", "least", "greatest", "states")
    assert _rows(measured, "sales", *told) == [
        ("north", 1, 1, 2, 2, 9, 9.0, 9, 9, 2),
        ("south", None, 0, 1, 1, None, None, None, None, 1),
        ("south", 1, 2, 0, 0, 0, 0.0, 0, 0, 0),
    ]
    # of two rows that are the first, max_by and min_by take the greater and the lesser state; a NULL is a value, but no place
    chosen = ("shop", "day", "last_state", "first_state", "last_paid")
    assert _rows(measured, "sales", *chosen) == [
        ("north", 1, None, "new", 2),
        ("south", None, None, None, None),
        ("south", 1, "paid", "paid", 5),
    ]
    assert _rows(measured, "by_shop", "shop", "last_state", "last_at") == [("north", None, 1.5), ("south", "paid", 1.0)]
    _arrive(measured, 2, "3, 2, true, null, null, null, null", "2, 2, false, 'south', 2, 'back', 9", "7, 1, true, '', 1, '', 1")
    measured.run("run", "--select", *RUNS)
    assert _rows(measured, "sales", *chosen)[0] == ("north", 1, "new", "new", None), "the row that was the last is gone"
    assert _rows(measured, "totals", "north", "paid", "last_state") == [(False, 2, "back"), (True, 0, "new")]


def test_a_quotient_is_a_double_and_null_by_zero_whatever_ansi_says(measured) -> None:
    types = dict(measured.sql("select * from sales_final").dtypes)
    assert (types["share"], types["of_paid"], types["spread"], types["last_state"]) == ("double", "double", "double", "string")
    for ansi in ("false", "true"):
        measured.sql(f"set spark.sql.ansi.enabled = {ansi}")
        try:
            assert measured.rows("select share, of_paid, spread from sales_final where day = 1 order by shop") == [
                (0.0, None, None),
                (1.0, 0.0, None),
            ]
            assert measured.rows("select share from of_all_final") == [(0.4,)]
        finally:
            measured.sql("set spark.sql.ansi.enabled = false")


def test_every_new_measure_passes_the_test_of_a_projection_and_a_wrong_one_does_not(measured, full: bool) -> None:
    """By default of one projection with all measures and the last rollup of it, until it is wrong."""
    assert set(measured.run("test", "--select", *(PROJECTIONS if full else ("sales", "totals"))).values()) == {"pass"}
    measured.sql("create table groups_alone using parquet as select * from sales where ledger_batch = 2 and ledger_part = 0")
    measured.drop_batch("sales", 2)
    measured.sql("insert into sales select * from groups_alone")
    measured.fails("test", "--select", "sales")
    if full:
        measured.run("run", "--select", "sales", "by_shop", "totals", "--full-refresh")
        assert set(measured.run("test", "--select", "sales").values()) == {"pass"}


def test_another_quotient_builds_nothing_again_and_another_condition_does(measured) -> None:
    """Nor what reads it."""
    source, of_shop = PROJECTIONS["by_shop"]
    doubt, settings = {"doubt": "n / paid"}, PROJECTIONS["of_all"][1]
    measured.write("models/by_shop.sql", model(f"projection(ref('{source}'))", of_shop | {"measures": TOTALS | doubt}))
    before = {name: measured.batches_that_count(name) for name in ("by_shop", "totals", "of_all")}
    for measures in (doubt, doubt | {"paid": "count_if(state = 'back')"}):
        changed = settings | {"measures": settings["measures"] | measures}
        measured.write("models/of_all.sql", model("projection(ref('events'))", changed))
        measured.run("run", "--select", *before, "of_all_final")
        after = {name: measured.batches_that_count(name) for name in before}
        assert after == (before if measures is doubt else before | {"of_all": [2]})
    assert measured.rows("select doubt, share from of_all_final") == [(5.0, 0.2)]


def test_what_is_no_measure_is_an_error_that_says_why(measured) -> None:
    models = [f"wrong_{number}" for number in range(len(WRONG) + len(WRONG_OF_SALES))]
    said = measured.failures("run", "--select", *models)
    of_sales = [f"measure 'wrong': {sql} cannot be computed from what 'sales' keeps" for sql in WRONG_OF_SALES]
    assert not {
        name: said[name] for name, words in zip(models, [*WRONG.values(), *of_sales], strict=True) if words not in said[name]
    }


@pytest.mark.full
def test_as_many_values_as_spark_groups_by_are_kept_of_all_rows(measured) -> None:
    measures = {f"m{number}": f"min(id + {number})" for number in range(64)}
    measured.write("models/widest.sql", model("projection(ref('events'))", {"group_by": [], "measures": measures}))
    least = "(select min(id) from {{ collapsing.final(ref('events')) }}) as least"
    measured.write("models/widest_final.sql", VIEW + f"select m0, m63, {least} from {{{{ collapsing.final(ref('widest')) }}}}")
    measured.run("run", "--select", "widest", "widest_final")
    [(first, last, least)] = measured.rows("select * from widest_final")
    assert first == least and last == least + 63
