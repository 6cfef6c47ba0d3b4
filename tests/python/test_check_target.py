"""scripts/check-target: what a stranger runs on a platform of theirs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.dbt_project import REPOSITORY

pytestmark = pytest.mark.only("parquet")

PROFILES = """
ours:
  target: dev
  outputs: {dev: {type: spark, method: session, host: localhost, schema: ours}}
theirs:
  outputs: {default: {type: spark, method: session, host: localhost, schema: theirs}}
"""


def _check(local: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run the kit, with a warehouse and a metastore in a folder of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "SPARK", "DBT"))}
    environment |= {
        "COLLAPSING_LOCAL": str(local),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "DBT_PROFILES_DIR": str(REPOSITORY / "profiles"),
    }
    command = [sys.executable, str(REPOSITORY / "scripts" / "check_target" / "check.py"), *arguments]
    return subprocess.run(command, env=environment, cwd=local, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--profiles-dir", "nowhere"), "no profiles.yml in .*nowhere"),
        (("--profiles-dir", "."), r"--profile must be one of .*: ours, theirs; given: nothing"),
        (("--profiles-dir", ".", "--profile", "mine"), r"--profile must be one of .*: ours, theirs; given: mine"),
        (
            ("--profiles-dir", ".", "--profile", "ours", "--target", "prod"),
            "--target must be one of the profile ours: dev; given: prod",
        ),
    ],
)
def test_what_names_no_target_is_told_before_anything_starts(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    (tmp_path / "profiles.yml").write_text(PROFILES)
    ran = _check(tmp_path, *arguments)
    assert ran.returncode == 2 and re.search(says, ran.stderr), ran.stderr


@pytest.mark.full
def test_plain_parquet_keeps_what_it_has_to(tmp_path: Path) -> None:
    ran = _check(tmp_path, "--target", "parquet")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = [line.split(" | ") for line in ran.stdout.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 11 and {holds for _, holds, _ in rows} == {"yes", "-"}, ran.stdout
    assert not [*(tmp_path / "warehouse").glob("collapsing_check_*")], "the schema is left"
