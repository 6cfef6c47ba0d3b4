"""dbt's own unit tests of the SQL builders: models/unit_tests, where a comment names each scenario."""

from __future__ import annotations

import pytest
import yaml

from support.dbt_project import REPOSITORY, DbtProject

pytestmark = pytest.mark.only("parquet")  # SQL without tables

UNIT_TESTS = [
    test["name"]
    for file in (REPOSITORY / "models" / "unit_tests").glob("*.yml")
    for test in yaml.safe_load(file.read_text())["unit_tests"]
]


def test_every_unit_test_passes(repository: DbtProject):
    statuses = repository.run("build", "--select", "path:models/unit_tests")
    ran = {name: status for name, status in statuses.items() if name in UNIT_TESTS}
    assert ran == dict.fromkeys(UNIT_TESTS, "pass")
    assert len(ran) == len(UNIT_TESTS)
