"""Hive's metastore, which most of the other tests do without: the cases marked hive, in a session of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.dbt_project import REPOSITORY

pytestmark = pytest.mark.only("parquet")


def test_what_is_marked_hive_holds_on_its_metastore(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "SPARK_LOCAL", "DBT"))}
    command = [sys.executable, "-m", "pytest", "--hive", "-p", "no:xdist", "-p", "no:cacheprovider"]
    command += ["--ansi"] if request.config.getoption("--ansi") else []
    marked = [path for path in sorted(Path(__file__).parent.glob("test_*.py")) if "pytest.mark.hive" in path.read_text()]
    command += ["--basetemp", str(tmp_path / "hive"), *map(str, marked)]
    ran = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    print(ran.stdout)
    assert ran.returncode == 0, ran.stdout[-10000:] + ran.stderr[-2000:]
