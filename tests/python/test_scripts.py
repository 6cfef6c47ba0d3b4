"""What the scripts share: one process at a time on a metastore that takes no more."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from workspace import InUse, alone

pytestmark = pytest.mark.only("parquet")

HOLDER = (
    "import sys, workspace, pathlib\nwith workspace.alone(pathlib.Path(sys.argv[1])):\n    print('held', flush=True)\n    input()"
)


def test_the_second_script_is_told_who_is_at_work_and_a_killed_one_holds_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(Path(sys.modules["workspace"].__file__).parent)},
    ) as first:
        assert first.stdout.readline() == b"held\n"
        said = rf"{re.escape(str(tmp_path))} is being used by process {first.pid} since 20\d\d-.*: wait for it to end"
        with pytest.raises(InUse, match=said), alone(tmp_path):
            pass
        first.kill()
    with alone(tmp_path):
        pass


@pytest.mark.hive
def test_a_metastore_that_spark_has_open_is_seen(spark, local: Path) -> None:
    said = rf"metastore is open in process \d+, which process {os.getpid()} has started \(.*python.*\): wait for it to end"
    with pytest.raises(InUse, match=said if sys.platform == "linux" else "another process"), alone(local):
        pass
    with alone(local, is_embedded=False):  # a server has a metastore of its own
        pass
