"""A table that its format has put back to an older version, and a copy of one on plain parquet: both are folded upon."""

from __future__ import annotations

import itertools
import re

import pytest

from support.dbt_project import LEDGER, VIEW, DbtProject, model, values
from support.lives import operate
from support.targets import WITH_LOG

ROWS = {
    "b1": [(1, 1, False, 10), (2, 1, False, 20)],
    "b2": [(1, 2, False, 11), (2, 2, True, 20)],
    "b3": [(2, 3, False, 22), (3, 1, False, 30)],
    "b4": [(1, 3, True, 11), (4, 1, False, 40)],
}
LIVE = {"b2": [(1, 11)], "b3": [(1, 11), (2, 22), (3, 30)], "b4": [(2, 22), (3, 30), (4, 40)]}
FOLD = "run", "--select", "stage", "orders", "sums"
NUMBERS = itertools.count()


@pytest.fixture
def project(make_project) -> DbtProject:
    """A ledger and a projection that have folded three of four blocks, and what each shows."""
    rows = values((*row, block) for block, of_block in ROWS.items() for row in of_block)
    staged = f"select * from values {rows} as t (id, version, is_deleted, amount, block)"
    files = {
        "models/stage.sql": f"{VIEW}select * from ({staged}) where block <= '{{{{ var('upto') }}}}'",
        "models/orders.sql": model("ledger(ref('stage'))", LEDGER),
        "models/sums.sql": model(
            "projection(ref('orders'))", {"group_by": [], "measures": {"n": "count(*)", "amount": "sum(amount)"}}
        ),
        "models/live.sql": VIEW + "select id, amount from {{ collapsing.final(ref('orders')) }}",
        "models/totals.sql": VIEW + "select * from {{ collapsing.final(ref('sums')) }}",
    }
    project = make_project(f"restored_{next(NUMBERS)}", files)
    project.run("run", variables={"upto": "b1"})
    for upto in ("b2", "b3"):
        project.run(*FOLD, variables={"upto": upto})
    return project


def _check(project: DbtProject, upto: str) -> None:
    live = project.rows(f"select * from {project.schema}.live order by id")
    assert live == LIVE[upto]
    assert project.rows(f"select * from {project.schema}.totals") == [(len(live), sum(amount for _, amount in live))]


def _restore(project: DbtProject, target: str, table: str, number: int) -> None:
    """Put a table back to the version in which a number was its last."""
    name = f"{project.schema}.{table}"
    if target == "delta":
        versions = [row[0] for row in project.rows(f"describe history {name}")]
        had = f"select coalesce(max(abs(ledger_batch)), -1) from {name} version as of "
        version = max(version for version in versions if project.rows(f"{had}{version}") == [(number,)])
        project.sql(f"restore table {name} to version as of {version}")
    else:
        snapshots = [row[0] for row in project.rows(f"select snapshot_id from {name}.snapshots order by committed_at desc")]
        had = f"select coalesce(max(abs(ledger_batch)), -1) from {name} version as of "
        snapshot = next(snapshot for snapshot in snapshots if project.rows(f"{had}{snapshot}") == [(number,)])
        project.sql(f"call spark_catalog.system.rollback_to_snapshot('{name}', {snapshot})")
        project.sql(f"refresh table {name}")


@pytest.mark.only(*WITH_LOG)
def test_a_restored_ledger_folds_on_and_its_projection_notices(project, target: str) -> None:
    """Its projection has read a batch that the ledger does not have any more, until a run gives the number out again."""
    _restore(project, target, "orders", 2)
    project.run("run", "--select", "sums")
    assert project.visible(f"{project.schema}.sums")[-1] in (-2, 2)
    _check(project, "b2")
    for upto in ("b3", "b4"):
        project.run(*FOLD, variables={"upto": upto})
        _check(project, upto)


@pytest.mark.only(*WITH_LOG)
def test_a_restored_projection_reads_again_what_it_has_missed(project, target: str) -> None:
    _restore(project, target, "sums", 2)
    project.run("run", "--select", "sums")
    _check(project, "b3")


@pytest.mark.full
@pytest.mark.only("parquet")
@pytest.mark.parametrize("is_optimized", [False, True])
def test_a_plain_copy_is_refused_with_the_statements_that_make_a_right_one(project, is_optimized: bool) -> None:
    """As a ledger is put back that was saved by `create table as select`; its projection is rebuilt from it."""
    ledger, saved = f"{project.schema}.orders", f"{project.schema}.saved"
    if is_optimized:
        assert operate(project, "optimize", model="orders").success
    project.sql(f"create table {saved} using parquet as select * from {ledger}")
    [(_, first)] = project.rows(f"show tblproperties {ledger} ('collapsing.first')")
    project.sql(f"drop table {ledger}")
    project.sql(f"create table {ledger} using parquet as select * from {saved}")
    said = " ".join(project.fails("run", "--select", "orders").split())
    assert f"the table {ledger} is not one that this package has created" in said
    statements = re.search(rf"(create table {ledger} using .*? from <original>); (alter table .*?\))\. <first>", said)
    project.sql(f"drop table {ledger}")
    for statement in statements.groups():
        project.sql(statement.replace("<first>", first).replace("<original>", saved))
    for upto in ("b3", "b4"):
        project.run(*FOLD, variables={"upto": upto})
        _check(project, upto)
