"""The examples of docs/scheduling.md: they compile, and are what they say once they are loaded beside Airflow and Dagster."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.dbt_project import LEDGER, REPOSITORY, VIEW, model, stranger_files, write_files
from support.processes import start_dbt

pytestmark = pytest.mark.only("parquet")

EXAMPLES = REPOSITORY / "docs" / "examples"
# What each needs, and what a process says of it once it is loaded.
LOADED = {
    "airflow_plain": (
        ["apache-airflow", "apache-airflow-providers-standard"],
        "[sorted(dag.task_ids) for dag in (example.fold, example.optimize)]",
        [["run", "status"], ["optimize", "tests"]],
    ),
    "airflow_cosmos": (
        ["apache-airflow", "apache-airflow-providers-standard", "astronomer-cosmos"],
        "sorted(example.dag.task_ids)",
        ["models.orders_run", "models.sums_run", "status"],
    ),
    "dagster_assets": (
        ["dagster", "dagster-dbt", "dbt-core==1.11.*", "dbt-spark"],
        "[sorted(key.to_user_string() for key in example.ledgers.keys), "
        "sorted(job.name for job in example.definitions.jobs), len(example.definitions.schedules)]",
        [["orders", "sums"], ["check_ledgers", "fold"], 2],
    ),
}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_compiles_and_is_loaded_by_a_test(path: Path) -> None:
    ast.parse(path.read_text())
    assert path.stem in LOADED
    assert f"examples/{path.name}" in (REPOSITORY / "docs" / "scheduling.md").read_text()


@pytest.mark.full
@pytest.mark.parametrize("name", LOADED)
def test_an_example_is_loaded_beside_its_scheduler(name: str, tmp_path: Path) -> None:
    packages, said, expected = LOADED[name]
    project = tmp_path / "shop"
    files = {
        "models/stage.sql": VIEW + "select 1 as id, 1 as version, false as is_deleted, 'b1' as block",
        "models/orders.sql": model("ledger(ref('stage'))", LEDGER),
        "models/sums.sql": model("projection(ref('orders'))", {"group_by": [], "measures": {"n": "count(*)"}}),
    }
    write_files(project, files | stranger_files("shop"))
    environment = os.environ | {"COLLAPSING_LOCAL": str(tmp_path), "DBT_LOG_PATH": str(tmp_path / "logs")}
    for command in ("deps", "parse"):
        process = start_dbt(project, environment, command)
        assert process.wait() == 0, process.stdout.read()
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "--quiet", *packages], check=True)
    environment |= {"DBT_PROJECT_DIR": str(project), "AIRFLOW_HOME": str(tmp_path / "airflow"), "PYTHONPATH": str(EXAMPLES)}
    environment |= {"PATH": f"{venv / 'bin'}:{os.environ['PATH']}"}
    load = f"import json, {name} as example\nprint(json.dumps({said}))"
    ended = subprocess.run([venv / "bin" / "python", "-c", load], env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert json.loads(ended.stdout.splitlines()[-1]) == expected
