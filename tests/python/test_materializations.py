"""Ledgers and projections as incremental models of dbt: hooks, documents, refresh, what readers see of it, retry."""

from __future__ import annotations

import json

import pytest

from support.dbt_project import LEDGER, VIEW, DbtProject, Statements, given, model, values
from support.lives import operate

ROWS = {
    "b1": [(1, 1, False, "north", 10), (2, 1, False, "north", 20)],
    "b2": [(1, 2, False, "south", 11), (2, 2, True, "north", 20)],
    "b3": [(1, 1, False, "north", 10)],
    "b4": [(3, 1, False, "north", 30)],
}
SUMS = {"group_by": ["shop"], "measures": {"n": "count(*)", "amount": "sum(amount)"}}
LIVE = {"b1": {(1, 10), (2, 20)}, "b2": {(1, 11)}, "b3": {(1, 11)}, "b4": {(1, 11), (3, 30)}}
WRITES = ("insert", "alter", "create", "drop", "delete", "call")  # how statements begin that write


def _statements(name: str, **options) -> Statements:
    """Return what hears the statements of one model."""
    return Statements(f"model.materialized.{name}", **options)


def _staged(*blocks: str) -> str:
    rows = values((*row, block) for block in blocks for row in ROWS[block])
    return f"select * from values {rows} as t (id, version, is_deleted, shop, amount, block)"


@pytest.fixture(scope="module")
def project(make_project) -> DbtProject:
    """A ledger, a projection of it and views of both; block b1 is folded, but not by the ledger with hooks."""
    hooks = "".join(f"{when}_hook=\"insert into materialized.hooked select '{when}'\", " for when in ("pre", "post"))
    hooked = f"{{{{ config({hooks}) }}}}\n"
    described = "config: {persist_docs: {relation: true}}"
    complete = json.dumps({"collapsing.complete": given(stage="ref('stage')")})
    files = {
        "models/stage.sql": VIEW + f"select * from ({_staged(*ROWS)}) where block <= '{{{{ var('upto', 'b4') }}}}'",
        "models/orders.sql": model("ledger(ref('stage'))", LEDGER),
        "models/sums.sql": model("projection(ref('orders'))", SUMS),
        "models/live.sql": VIEW + "select id, amount from {{ collapsing.final(ref('orders')) }}",
        "models/live_sums.sql": VIEW + "select * from {{ collapsing.final(ref('sums')) }}",
        "models/hooks.sql": hooked + model("ledger(ref('stage'))", LEDGER),
        "models/hooks_sums.sql": hooked + model("projection(ref('hooks'))", SUMS),
        "models/docs.yml": f"""models:
  - {{name: hooks, description: it's the orders, {described}}}
  - {{name: hooks_sums, description: it's their sums, {described}}}
  - {{name: orders, data_tests: [collapsing.collapsed, {complete}]}}
  - {{name: sums, data_tests: [collapsing.equals_recompute]}}
""",
    }
    project = make_project("materialized", files)
    project.sql("create schema if not exists materialized")
    project.run("compile")  # a fresh schema is no error
    project.sql("create table materialized.hooked using parquet as select 'none' as hook where false")
    project.run("run", "--exclude", "hooks+", variables={"upto": "b1"})
    return project


def _live(project: DbtProject) -> set[tuple]:
    return set(project.rows("select * from materialized.live"))


@pytest.mark.full
def test_readers_never_lose_a_table_that_is_undone_optimized_or_refreshed(project) -> None:
    """Ledger and projection are read around each statement that writes: they show what was there, or what follows."""
    seen: list[tuple] = []

    def read(statement: str = "insert") -> None:
        if statement.startswith(WRITES):
            seen.append((frozenset(_live(project)), frozenset(project.rows("select * from materialized.live_sums"))))

    def states(*blocks: str) -> set[tuple]:
        """Return what ledger and projection show, the projection with its ledger or behind it."""
        sums = {"b1": [("north", 2, 30)], "b2": [("south", 1, 11)]}
        return {(frozenset(LIVE[block]), frozenset(sums[other])) for block in blocks for other in blocks}

    hears = [Statements(before=read)]
    built = "run", "--select", "orders", "sums"
    project.run(*built, "stage", variables={"upto": "b2"})
    read()
    assert seen == [(frozenset(LIVE["b2"]), frozenset([("south", 1, 11)]))]
    for act, number, blocks in (
        (lambda: operate(project, "undo", hears, model="orders", batch=2), -3, ("b2", "b1")),
        (lambda: project.invoke(*built, callbacks=hears), -3, ("b1", "b2")),
        (lambda: operate(project, "optimize", hears, model="orders"), -4, ("b2",)),
        (lambda: project.invoke(*built, "--full-refresh", callbacks=hears), -5, ("b2",)),
    ):
        before = len(seen)
        assert act().success
        read()
        assert len(seen) > before + 1 and set(seen[before:]) <= states(*blocks)
        assert project.visible("materialized.orders")[0] == number
    project.run("run", "--exclude", "hooks+", variables={"upto": "b4"})
    assert _live(project) == LIVE["b4"]
    assert set(project.rows("select * from materialized.live_sums")) == {("south", 1, 11), ("north", 1, 30)}


@pytest.fixture(scope="module")
def heard(project) -> dict[str, list[str]]:
    """What a run writes, statement by statement, by model: nothing is new but for the two with hooks, which are built."""
    listeners = {name: _statements(name) for name in ("orders", "sums", "hooks", "hooks_sums")}
    assert project.invoke("run", "--select", *listeners, callbacks=[*listeners.values()]).success
    return {name: [one for one in listener.heard if one.startswith(WRITES)] for name, listener in listeners.items()}


def test_a_run_without_news_writes_nothing(project, heard) -> None:
    assert not heard["orders"] + heard["sums"]
    assert abs(project.visible("materialized.orders")[-1]) == abs(project.visible("materialized.sums")[-1])


@pytest.mark.parametrize("name", ["hooks", "hooks_sums"])
def test_hooks_run_around_all_that_is_written(heard, name: str) -> None:
    assert "'pre'" in heard[name][0] and "'post'" in heard[name][-1]


@pytest.mark.parametrize(("name", "says"), [("hooks", "it's the orders"), ("hooks_sums", "it's their sums")])
def test_descriptions_are_kept_with_the_table(project, heard, name: str, says: str) -> None:
    described = project.rows(f"describe table extended materialized.{name}")
    assert says in [row[1] for row in described if row[0] == "Comment"]


def test_a_ledger_without_batches_takes_other_settings(project) -> None:
    """As after `dbt run --empty`."""
    other = model("ledger(ref('stage'))", LEDGER | {"key": "shop"})
    project.write("models/later.sql", other)
    project.run("run", "--empty", "--select", "stage", "later")
    project.write("models/later.sql", model("ledger(ref('stage'))", LEDGER))
    for upto in ("b1", "b4"):
        project.run("run", "--select", "stage", "later", variables={"upto": upto})
    assert len(project.visible("materialized.later")) == 3
    project.write("models/later.sql", other)
    assert "rows were folded by other settings" in project.fails("run", "--select", "later")


@pytest.mark.full
def test_a_run_that_failed_goes_on_with_retry(project) -> None:
    project.write("models/broken.sql", model("ledger(ref('broken_stage'))", LEDGER))
    staged = "1 as version, false as is_deleted, 'x' as block"
    project.write("models/broken_stage.sql", VIEW + f"select cast(null as int) as id, {staged}")
    assert "null_key (id must not be NULL): 1 row" in project.fails("run", "--write-json", "--select", "broken_stage", "broken")
    project.sql(f"create or replace view materialized.broken_stage as select 7 as id, {staged}")
    project.run("retry")
    assert project.rows(f"select id, ledger_batch from {project.data('materialized.broken')}") == [(7, 1)]


@pytest.mark.only("delta")
def test_a_constraint_that_tombstones_and_notes_would_break_is_refused(make_project) -> None:
    """Delta would enforce it on every row of the table; one that asks for the sign first holds, of notes too."""
    columns = {
        "id": "int",
        "version": "int",
        "amount": "int",
        "ledger_sign": "tinyint",
        "ledger_block": "string",
        "ledger_note": "string",
        "ledger_batch": "int",
    }

    def contract(**constraints: str) -> str:
        of = [f"{{name: {name}, data_type: {dtype}{constraints.get(name, '')}}}" for name, dtype in columns.items()]
        checks = (
            f", constraints: [{{type: check, name: checked, expression: '{constraints['check']}'}}]"
            if "check" in constraints
            else ""
        )
        return f"models: [{{name: bound, config: {{contract: {{enforced: true}}}}{checks}, columns: [{', '.join(of)}]}}]"

    stage = "values (1, 1, 5, 'a'), (1, 1, 5, 'b') as t (id, version, amount, block)"
    project = make_project(
        "constrained",
        {
            "models/stage.sql": VIEW + f"select * from {stage} where block <= '{{{{ var('upto', 'a') }}}}'",
            "models/bound.sql": model("ledger(ref('stage'))", {"key": "id", "version": "version", "block": "block"}),
            "models/bound.yml": contract(check="amount >= 0"),
        },
    )
    assert "the constraint check (amount >= 0) would hold for every row of the table" in project.fails("run")
    project.write("models/bound.yml", contract(id=", constraints: [{type: not_null}]"))
    assert "the constraint not_null of id would hold for every row of the table" in project.fails("run")
    project.write("models/bound.yml", contract(check="ledger_sign <> 1 or amount >= 0"))
    project.run("run")
    project.run("run", variables={"upto": "b"})
    assert project.rows("select id, amount, ledger_batch from bound where ledger_sign = 1") == [(1, 5, 1)]
    assert project.visible("constrained.bound") == [0, 1, 2]
