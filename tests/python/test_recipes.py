"""The recipes, step by step: their data tests compare them with a direct answer after the last steps, and can fail."""

from __future__ import annotations

import pytest

from support.dbt_project import REPOSITORY, DbtProject, nodes_of

pytestmark = [pytest.mark.only("parquet"), pytest.mark.full]  # models over the public macros, which no format changes

MODELS = "path:models/examples/recipes"
TESTS = ("test", "--select", "path:tests/recipes")
FOLDED = [
    f"{MODELS},{which}"
    for which in ("config.materialized:incremental_ledger", "config.materialized:incremental_projection", "*_stage")
]
# step: what runs. In step 3 customers are renamed and move, and nothing of the orders runs.
STEPS = {
    1: [MODELS],
    2: FOLDED,
    3: ["customers_stage", "customers_ledger", "customer_versions_ledger", "products_stage", "products_ledger"],
    4: FOLDED,
}
TESTED_AFTER = (3, 4)


@pytest.fixture(scope="module")
def statuses(repository: DbtProject) -> dict[int, dict[str, str]]:
    """Return the statuses of the data tests, by the steps after which they run."""
    repository.run("seed", "--full-refresh", "--select", "path:seeds/recipes")
    files = (REPOSITORY / "models" / "examples" / "recipes").rglob("*.sql")
    tables = [path.stem for path in files if path.stem.endswith(("_ledger", "_projection"))]
    for table in [row[1] for row in repository.rows("show tables") if row[1] in tables]:
        repository.sql(f"drop table {table}")  # a server keeps what earlier tests left
    found = {}
    for step, selected in STEPS.items():
        repository.run("run", "--select", *selected, variables={"examples_step": step})
        if step in TESTED_AFTER:
            tested = nodes_of(repository.invoke(*TESTS, variables={"examples_step": step}))
            found[step] = {node.node.name: str(node.status) for node in tested}
    return found


@pytest.mark.parametrize("step", TESTED_AFTER)
def test_each_recipe_equals_the_direct_answer(statuses, step: int) -> None:
    names = {path.stem for path in (REPOSITORY / "tests" / "recipes").glob("*.sql")}
    assert statuses[step] == dict.fromkeys(names, "pass") != {}


def test_events_were_late_and_deleted_and_both_shards_had_some(statuses, repository: DbtProject) -> None:
    for ledger in ("orders_ledger", "customers_ledger"):
        counted = f"select sum(decisions['stale']), sum(tombstones) from {repository.notes(ledger, 'commit')}"
        [(stale, tombstones)] = repository.rows(counted)
        assert stale > 0 and tombstones > 0, ledger
    for shard in ("sharded_orders_0_ledger", "sharded_orders_1_ledger"):
        assert repository.rows(f"select count(*) > 0 from {shard}") == [(True,)]


def test_the_data_tests_fail_where_a_recipe_is_behind(statuses, repository: DbtProject) -> None:
    failed = nodes_of(repository.invoke(*TESTS, variables={"examples_step": 1}))
    assert {node.node.name: str(node.status) for node in failed} == dict.fromkeys(statuses[4], "fail")
