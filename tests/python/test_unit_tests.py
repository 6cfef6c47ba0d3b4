"""dbt's own unit tests of the SQL builders: the named scenarios in models/unit_tests."""

from __future__ import annotations

import pytest
import yaml

from support.dbt_project import FROM_DBT_1_10, REPOSITORY, DbtProject

pytestmark = [pytest.mark.only("parquet"), FROM_DBT_1_10]  # SQL without tables

SCENARIOS = [
    scenario["name"]
    for file in (REPOSITORY / "models" / "unit_tests").glob("*.yml")
    for scenario in yaml.safe_load(file.read_text())["unit_tests"]
]


def test_every_scenario_passes(repository: DbtProject):
    statuses = repository.run("build", "--select", "path:models/unit_tests")
    ran = {name: status for name, status in statuses.items() if name in SCENARIOS}
    assert ran == dict.fromkeys(SCENARIOS, "pass")
    assert len(ran) == len(SCENARIOS)
