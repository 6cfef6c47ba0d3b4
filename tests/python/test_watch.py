"""scripts/watch: blocks are folded as they land, and a signal in the middle of a batch loses nothing and doubles nothing."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.dbt_project import REPOSITORY, VIEW, model, stranger_files, write_files
from support.processes import start_dbt

pytestmark = pytest.mark.only("parquet")

SCRIPT = REPOSITORY / "scripts" / "watch.py"
SETTINGS = {"key": "id", "version": "version", "block": "block"}
SUMS = {"group_by": [], "measures": {"n": "count(*)", "total": "sum(version)"}}
KEYS = 2000


@pytest.fixture(scope="module")
def watch():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("watch", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["watch"] = module
    spec.loader.exec_module(module)
    return module


def test_a_ledger_knows_what_a_run_has_said(watch) -> None:
    ledger = watch.Ledger("orders")
    assert ledger.is_waiting, "nothing is known yet"
    assert ledger.take("success", "batch 12: 2 blocks, 7 rows (applied 5, stale 2)", 1.25)
    assert ledger.take("success", "batch 13: 1 row", 0.5)
    assert not ledger.take("success", "no new blocks", 0.1)
    assert (ledger.batches, ledger.rows, dict(ledger.decisions)) == (2, 8, {"applied": 5, "stale": 2})
    assert ledger.take("error", "Compilation Error in model orders\n  collapsing: model 'orders': bad rows\n\n > in macro", 0.1)
    assert (ledger.failures, ledger.said) == (1, "collapsing: model 'orders': bad rows")
    for figures, is_waiting in (
        ({"unread_blocks": 0, "lag_batches": 0}, False),
        ({"unread_blocks": 0, "lag_batches": None}, False),
        ({"unread_blocks": 1, "lag_batches": 0}, True),
        ({"unread_blocks": 0, "lag_batches": 2}, True),
        ({"unread_blocks": None}, True),
    ):
        ledger.figures = figures
        assert ledger.is_waiting == is_waiting


def test_metrics_are_what_prometheus_reads_and_replace_the_old_ones_whole(watch, tmp_path: Path) -> None:
    odd = watch.Ledger('o"d\\d', figures={"unread_blocks": 3, "age_minutes": 1.5, "bytes": None})
    odd.take("success", "batch 1: 1 block, 4 rows (applied 3, null_key 1)", 2.0)
    watch.write_metrics(tmp_path / "metrics.prom", [odd])
    lines = (tmp_path / "metrics.prom").read_text().splitlines()
    label = r'ledger="o\"d\\d"'
    for line in (
        "# TYPE collapsing_unread_blocks gauge",
        f"collapsing_unread_blocks{{{label}}} 3",
        f"collapsing_age_seconds{{{label}}} 90",
        "# TYPE collapsing_folded_rows_total counter",
        f"collapsing_folded_rows_total{{{label}}} 4",
        f'collapsing_decisions_total{{{label},decision="null_key"}} 1',
    ):
        assert line in lines
    assert not [line for line in lines if "bytes" in line], "what is not known is not told"
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.prom"]


def test_a_table_of_ledgers_and_a_command_line_that_says_what_is_wrong(watch, tmp_path: Path) -> None:
    from rich.console import Console

    ledger = watch.Ledger(
        "orders", figures={"unread_blocks": 2, "last_batch": 7, "age_minutes": 3.2, "live": 40, "lag_batches": 0}
    )
    ledger.take("success", "batch 7: 1 block, 4 rows (applied 4)", 2.0)
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(watch.Screen._table([ledger], "folding"))
    text = " ".join(console.export_text().split())
    assert "orders 2 7 3 min 40 - 0 4 2.0 batch 7: 1 block, 4 rows (applied 4)" in text and "folding" in text
    for arguments, words in ((["--interval", "0"], "--interval must be above 0"), ([], "there is no dbt_project.yml in")):
        ended = subprocess.run([sys.executable, SCRIPT, "--project-dir", tmp_path, *arguments], capture_output=True, text=True)
        assert ended.returncode == 2 and words in ended.stderr


class Watched:
    """A process of the script in a project, in a process group of its own."""

    def __init__(self, project: Path, environment: dict[str, str], *arguments: str) -> None:
        self._log = project / "logs" / "watch.log"
        self.process = subprocess.Popen(
            [sys.executable, SCRIPT, "--project-dir", project, "--profiles-dir", project, "--json", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )

    def line(self) -> dict:
        """Wait for the next line of JSON. AssertionError where the process ends, or says nothing for long."""
        readable, _, _ = select.select([self.process.stdout], [], [], 240)
        text = self.process.stdout.readline() if readable else ""
        assert text, f"it said nothing more: {self._log.read_text()[-3000:]}"
        return json.loads(text)

    def end(self) -> int:
        """Wait for its end; gives the exit code."""
        self.process.communicate(timeout=240)
        return self.process.returncode


def _land(landing: Path, block: int) -> None:
    """Land a block of the next version of each key, as a file that is there whole or not at all."""
    hidden = landing / f".{block}"
    hidden.write_text("".join(json.dumps({"id": key, "version": block}) + "\n" for key in range(KEYS)))
    hidden.rename(landing / f"b{block}.json")


def _wait_until(is_so) -> None:
    """Wait until a condition holds, looking often."""
    end = time.monotonic() + 240
    while not is_so():
        assert time.monotonic() < end, "it has not come to this"
        time.sleep(0.005)


@pytest.mark.full
def test_a_signal_in_the_middle_of_a_batch_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    landing, project, local = tmp_path / "landing", tmp_path / "project", tmp_path / "local"
    for folder in (landing, local):
        folder.mkdir()
    arrived = f"select id, version, _metadata.file_name as block from json.`{landing}`"
    files = {
        "models/stage.sql": VIEW + arrived,
        "models/orders.sql": model("ledger(ref('stage'))", SETTINGS),
        "models/sums.sql": model("projection(ref('orders'))", SUMS),
        "models/other.sql": VIEW + "select 1 as one",
    }
    write_files(project, files | stranger_files("watched"))
    environment = os.environ | {
        "COLLAPSING_LOCAL": str(local),
        "DBT_LOG_PATH": str(tmp_path / "logs"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "SPARK_LOCAL_IP": "127.0.0.1",
        # where the profile looks for log4j2.properties: the quiet preset
        "DBT_PROFILES_DIR": str(REPOSITORY / "docs" / "examples" / "quiet"),
    }
    metrics = tmp_path / "metrics.prom"
    assert start_dbt(project, environment, "deps").wait() == 0
    _land(landing, 1)
    once = Watched(project, environment, "--once", "--select", "stage", "orders", "sums", "--metrics", str(metrics))
    told = once.line()
    assert (told["ledger"], told["batch"], told["folded_rows"], told["decisions"]) == ("orders", 1, KEYS, {"applied": KEYS})
    assert (told["unread_blocks"], told["live"], told["lag_batches"]) == (0, KEYS, 0)
    assert once.end() == 0
    assert f'collapsing_live{{ledger="orders"}} {KEYS}' in metrics.read_text()
    noise = [line for line in (project / "logs" / "watch.log").read_text().splitlines() if " WARN " in line]
    assert noise == [], "a session without trouble says nothing under the quiet preset"

    manifest = local / "warehouse" / "watched.db" / "orders__manifest"
    running = Watched(project, environment, "--interval", "0.2")
    _land(landing, 2)
    assert (running.line()["batch"], running.process.poll()) == (2, None)
    _land(landing, 3)
    _wait_until((manifest / "ledger_batch=3").exists)  # it is written before the batch is committed
    os.kill(running.process.pid, signal.SIGTERM)
    assert running.line()["batch"] == 3, "the batch that had begun is told"
    assert running.end() == 0

    running = Watched(project, environment, "--interval", "0.2")
    _land(landing, 4)
    _wait_until((manifest / "ledger_batch=4").exists)
    os.killpg(running.process.pid, signal.SIGKILL)
    running.end()
    running = Watched(project, environment, "--interval", "0.2")
    _land(landing, 5)
    seen = running.line()
    os.kill(running.process.pid, signal.SIGINT)
    assert running.end() == 0
    # what the kill had left of the fourth block was folded with the fifth, or before it
    assert seen["batch"] in (4, 5) and (seen["live"], seen["rows"]) in ((KEYS, 9 * KEYS), (KEYS, 7 * KEYS))
    shown = start_dbt(project, environment, "--quiet", "show", "--inline", "select * from {{ collapsing.final(ref('sums')) }}")
    said = shown.communicate()[0]
    assert shown.returncode == 0 and str(KEYS) in said and str(KEYS * 5) in said, said
