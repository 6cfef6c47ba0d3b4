"""scripts/watch: blocks are folded as they land, and a signal in the middle of a batch loses nothing and doubles nothing."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.dbt_project import REPOSITORY, VIEW, dbt_version, model, stranger_files, write_files
from support.processes import done, start, start_dbt
from support.sessions import IN_MEMORY, JAVA_OPTIONS

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
    watch.write_metrics(tmp_path / "metrics.prom", watch.metrics_of([odd], failures=2, last_success=0.0))
    lines = (tmp_path / "metrics.prom").read_text().splitlines()
    label = r'ledger="o\"d\\d"'
    for line in (
        "# TYPE collapsing_unread_blocks gauge",
        f"collapsing_unread_blocks{{{label}}} 3",
        f"collapsing_age_seconds{{{label}}} 90",
        "# TYPE collapsing_folded_rows_total counter",
        f"collapsing_folded_rows_total{{{label}}} 4",
        f'collapsing_decisions_total{{{label},decision="null_key"}} 1',
        "# TYPE collapsing_watch_failures_total counter",
        "collapsing_watch_failures_total 2",
        "collapsing_watch_last_success_timestamp_seconds 0.0",
    ):
        assert line in lines
    assert not [line for line in lines if "bytes" in line], "what is not known is not told"
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.prom"]


@pytest.mark.parametrize(("version", "latest", "name"), [(None, None, "orders"), (2, 2, "orders"), (1, 2, "orders.v1")])
def test_a_version_is_named_as_status_names_it(watch, version: int | None, latest: int | None, name: str) -> None:
    assert watch.name_of(SimpleNamespace(name="orders", version=version, latest_version=latest)) == name


def test_a_table_of_ledgers_and_a_command_line_that_says_what_is_wrong(watch, tmp_path: Path) -> None:
    from rich.console import Console

    ledger = watch.Ledger(
        "orders", figures={"unread_blocks": 2, "last_batch": 7, "age_minutes": 3.2, "live": 40, "lag_batches": 0}
    )
    ledger.take("success", "batch 7: 1 block, 4 rows (applied 4)", 2.0)
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(watch.Screen._table([ledger], "folding"))
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]
    assert lines[-3:] == ["", "orders: batch 7: 1 block, 4 rows (applied 4)", "folding"]
    assert "orders 2 7 3 min 40 - 0 4 2.0" in lines
    for arguments, words in (
        (["--interval", "0"], "--interval must be above 0"),
        (["--give-up", "0"], "--give-up must be 1 or more"),
        ([], "there is no dbt_project.yml in"),
    ):
        ended = subprocess.run([sys.executable, SCRIPT, "--project-dir", tmp_path, *arguments], capture_output=True, text=True)
        assert ended.returncode == 2 and words in ended.stderr


def test_brackets_of_an_error_are_shown_on_a_terminal(watch, monkeypatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    screen = watch.Screen(out, as_json=False)
    screen.complain("no [/such] table")
    screen.show([watch.Ledger("orders", said="no [other] table")], "folding")
    screen.close()
    assert "no [/such] table" in out.getvalue() and "no [other] table" in out.getvalue()


def test_without_rich_a_terminal_gets_a_line_for_each_batch_and_learns_why(watch, monkeypatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    screen = watch.Screen(out, as_json=False)
    screen.show([], "folding")
    screen.tell(watch.Ledger("orders", said="batch 7: 200 rows"))
    screen.close()
    assert "pip install rich" in out.getvalue() and "orders: batch 7: 200 rows" in out.getvalue()


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            "Compilation Error in macro fold (macros/fold.sql)\n  collapsing: model 'orders': bad rows\n    null_key: 1",
            "collapsing: model 'orders': bad rows",
        ),
        ("Runtime Error\n  Runtime Error\n    Database Error\n      failed to connect: EOFError", "failed to connect: EOFError"),
        (
            "Runtime Error in model orders (models/orders.sql)\n  \n  [PARSE_SYNTAX_ERROR] Syntax error at or near '1'.\n",
            "[PARSE_SYNTAX_ERROR] Syntax error at or near '1'.",
        ),
        (
            "An error occurred while calling o9.sql.\n: a.Exception: no client\n\tat a.B(c)\nCaused by: x\n\tat a.B(c)\n"
            "Caused by: ERROR XSDB6: Another instance of Derby may have already booted the database\n\tat a.B(c)\n\t... 8 more",
            "Caused by: ERROR XSDB6: Another instance of Derby may have already booted the database",
        ),
        (
            "Query failed\n[USER_RAISED_EXCEPTION] collapsing: key twice\nCaused by: a.Exception",
            "[USER_RAISED_EXCEPTION] collapsing: key twice",
        ),
        ("Error reading orders.yml", "Error reading orders.yml"),
        ("Runtime Error", "Runtime Error"),
        ("", ""),
    ],
)
def test_of_an_error_the_line_that_tells_most_is_shown(watch, error: str, line: str) -> None:
    assert watch.telling_line(error) == line


class FakeDbt:
    """In place of the script's Dbt: one ledger, and looks and runs that go as they are told."""

    def __init__(self, *turns: object) -> None:
        self._turns = iter(turns)

    def call(self, *_: str) -> SimpleNamespace:
        return SimpleNamespace(result=self._next())

    def models(self, *_: str) -> set[str]:
        return {"orders"}

    def operation(self, *_: object, **__: object) -> str:
        return json.dumps([{"model": "orders", "unread_blocks": self._next(), "lag_batches": 0}])

    def _next(self) -> object:
        turn = next(self._turns)
        if callable(turn):
            turn = turn()
        if isinstance(turn, Exception):
            raise turn
        return turn


def _result(model: str, status: str, message: str) -> SimpleNamespace:
    return SimpleNamespace(node=SimpleNamespace(name=model), status=status, message=message, execution_time=1.0)


@pytest.fixture
def turns(watch, monkeypatch, tmp_path: Path):
    """Returns a function that runs turns of a fake dbt: the exit code, the lines said, and the metrics after them."""

    def run(*turns: object, stop: threading.Event | None = None, **given: object) -> tuple[int, list[dict], dict[str, float]]:
        monkeypatch.setattr(watch, "Dbt", lambda *_: FakeDbt(*turns))
        options = {"select": watch.ALL, "interval": 0.001, "give_up": 3, "once": False, "json": True, "log": Path("watch.log")}
        options |= {"metrics": tmp_path / "metrics.prom"} | given
        out = io.StringIO()
        code = watch.watch(SimpleNamespace(**options), out, SimpleNamespace(asked=stop or threading.Event()))
        lines = [line.rsplit(" ", 1) for line in (tmp_path / "metrics.prom").read_text().splitlines() if line[0] != "#"]
        return code, [json.loads(line) for line in out.getvalue().splitlines()], {name: float(value) for name, value in lines}

    return run


AWAY = "dbt run-operation collapsing.status: failed to connect"


def test_a_server_that_is_away_for_a_while_is_asked_again_and_one_that_stays_away_ends_it(watch, turns) -> None:
    away = watch.WatchError(AWAY)
    before = time.time()
    code, said, metrics = turns(away, away, 0, away, away, away)
    assert (code, [line["error"] for line in said]) == (1, [AWAY] * 4 + [f"gave up (failed looks in a row: 3): {AWAY}"])
    assert metrics["collapsing_watch_failures_total"] == 5
    assert before <= metrics["collapsing_watch_last_success_timestamp_seconds"] + 0.001 <= time.time()
    code, said, metrics = turns(away, give_up=1)
    assert (code, len(said), metrics["collapsing_watch_last_success_timestamp_seconds"]) == (1, 1, 0)


def test_a_ledger_that_has_no_figures_is_run_and_does_not_keep_the_others_from_theirs(watch) -> None:
    asked = []

    def operation(_: str, **given: str) -> str:
        model = given.get("model")
        asked.append(model)
        if model in away:
            raise watch.WatchError(f"dbt run-operation collapsing.status: {away[model]}")
        return json.dumps([{"model": model, "unread_blocks": 0}])

    names = ["broken", "orders", "places", "shops"]
    project = watch.Watch(SimpleNamespace(models=lambda *_: set(names), operation=operation), watch.ALL)
    away = {None: "no table", "broken": "no table"}
    assert project.look() and project.failed_looks == 0 and asked == [None, *names]
    assert [ledger.is_waiting for ledger in project.ledgers.values()] == [True, False, False, False]
    asked.clear()
    away = dict.fromkeys([None, *names], "failed to connect")
    with pytest.raises(watch.WatchError):
        project.look()
    assert project.failed_looks == 1 and asked == [None, *names]


@pytest.mark.parametrize(
    ("has_stopped", "words"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "Spark's Java process is gone ([Errno 111] Connection refused); "),
        (True, "Spark has stopped; "),
    ],
)
def test_a_spark_of_this_process_that_has_died_ends_it_at_once(watch, turns, monkeypatch, has_stopped, words: str) -> None:
    def is_stopped() -> bool:
        if isinstance(has_stopped, Exception):
            raise has_stopped
        return has_stopped

    context = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=is_stopped)))
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", context)
    code, said, metrics = turns(watch.WatchError("dbt run-operation: Runtime Error"))
    assert (code, [line["error"] for line in said]) == (1, [f"{words}what it said last is in watch.log"])
    assert metrics["collapsing_watch_failures_total"] == 1
    bad = [_result("orders", "error", "Runtime Error\n  [Errno 111] Connection refused")]
    code, said, metrics = turns(1, bad, watch.WatchError("dbt run-operation: Runtime Error"))
    assert [line.get("ledger") for line in said] == ["orders", None], "what became of the batch is told all the same"
    assert (code, said[0]["error"], metrics['collapsing_folded_failures_total{ledger="orders"}']) == (
        1,
        "[Errno 111] Connection refused",
        1,
    )


def test_the_exit_code_after_a_signal_says_whether_the_last_turn_failed(watch, turns) -> None:
    for last, code in ((watch.WatchError(AWAY), 1), (0, 0)):
        stop = threading.Event()

        def asked(last: object = last, stop: threading.Event = stop) -> object:
            stop.set()
            return last

        assert turns(watch.WatchError(AWAY), 0, asked, stop=stop)[0] == code


def test_a_model_that_is_no_ledger_fails_a_turn_and_the_batch_of_its_ledger_is_told(turns) -> None:
    results = [
        _result("orders", "success", "batch 1: 1 block, 4 rows"),
        _result("sums", "error", "Runtime Error\n  no space left"),
    ]
    code, said, metrics = turns(1, results, 0, once=True)
    assert (code, said[0]["batch"], said[1]["error"]) == (1, 1, "sums: no space left")
    assert metrics["collapsing_watch_failures_total"] == 1 and metrics['collapsing_folded_batches_total{ledger="orders"}'] == 1


def test_metrics_that_cannot_be_written_end_it_with_a_line(turns, tmp_path: Path) -> None:
    (tmp_path / "metrics.prom").touch()
    code, said, _ = turns(0, once=True, metrics=tmp_path / "nowhere" / "metrics.prom")
    assert code == 1 and "No such file or directory" in said[0]["error"]


class Watched:
    """A process of the script in a project, in a process group of its own."""

    def __init__(self, project: Path, environment: dict[str, str], *arguments: str) -> None:
        self._log = project / "logs" / "watch.log"
        given = ["--project-dir", project, "--profiles-dir", project, "--json", *arguments]
        self.process = start([sys.executable, SCRIPT, *given], environment)

    def line(self) -> dict:
        """Wait for the next line of JSON. AssertionError where the process ends, or says nothing for long."""
        readable, _, _ = select.select([self.process.stdout], [], [], 240)
        text = self.process.stdout.readline() if readable else ""
        assert text, f"it said nothing more: {self._log.read_text()[-3000:]}"
        return json.loads(text)

    def java(self) -> int:
        """Return the id of the process of Java that it has started."""
        return int(
            subprocess.run(["pgrep", "-P", str(self.process.pid), "java"], capture_output=True, text=True, check=True).stdout
        )

    def end(self) -> int:
        """Wait for its end; returns the exit code."""
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


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of a process that leaves everything in a folder."""
    return os.environ | {
        "COLLAPSING_LOCAL": str(folder / "local"),
        "COLLAPSING_THRIFT_PORT": "1",  # where nobody listens
        "DBT_LOG_PATH": str(folder / "logs"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "SPARK_LOCAL_IP": "127.0.0.1",
        # where the profile looks for log4j2.properties: the quiet preset
        "DBT_PROFILES_DIR": str(REPOSITORY / "docs" / "examples" / "quiet"),
    }


def _project_of_nothing(folder: Path) -> tuple[Path, dict[str, str]]:
    """Make a project of a ledger whose stage is empty; returns its folder, and the environment to watch it in."""
    project, environment = folder / "project", _environment(folder) | {"SPARK_SUBMIT_OPTS": " ".join(JAVA_OPTIONS)}
    (folder / "local").mkdir()
    files = stranger_files("watched") | {
        "models/stage.sql": VIEW + "select 1 as id, 1 as version, 'b1' as block where false",
        "models/orders.sql": model("ledger(ref('stage'))", SETTINGS),
    }
    in_memory = "".join(f"\n        {name}: {value}" for name, value in IN_MEMORY.items())  # Hive's metastore takes long to make
    files["profiles.yml"] = re.sub(r"(?<=server_side_parameters: &embedded)", in_memory, files["profiles.yml"])
    write_files(project, files)
    (project / "dbt_packages").mkdir()
    (project / "dbt_packages" / "collapsing").symlink_to(REPOSITORY)  # as dbt deps does, which takes seconds
    return project, environment


@pytest.mark.full
def test_a_server_that_cannot_be_reached_is_named_and_its_error_is_in_the_log_of_dbt(tmp_path: Path) -> None:
    project, environment = _project_of_nothing(tmp_path)
    running = Watched(project, environment, "--target", "cluster", "--interval", "0.01", "--give-up", "2")
    first, last = running.line()["error"], running.line()["error"]
    assert running.end() == 1
    refused = "failed to connect"
    if not dbt_version.startswith(("1.9.", "1.10.")):  # dbt-spark before 1.11 does not say why
        refused += ": TTransportException: Could not connect to any of [('127.0.0.1', 1)]"
    assert first == f"dbt run-operation collapsing.status: {refused} (the whole error is in {tmp_path}/logs/dbt.log)"
    assert last == f"gave up (failed looks in a row: 2): {first}"
    assert refused in (tmp_path / "logs" / "dbt.log").read_text()


@pytest.mark.full
def test_a_java_that_is_killed_ends_it_with_a_line(tmp_path: Path) -> None:
    project, environment = _project_of_nothing(tmp_path)
    metrics = tmp_path / "metrics.prom"
    running = Watched(project, environment, "--select", "stage", "orders", "--interval", "0.2", "--metrics", str(metrics))
    _wait_until(metrics.exists)
    os.kill(running.java(), signal.SIGKILL)
    said = running.line()
    while "error" not in said:
        said = running.line()
    assert said["error"].startswith("Spark's Java process is gone (")
    assert running.end() == 1
    assert "collapsing_watch_failures_total 1" in metrics.read_text()


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
    environment = _environment(tmp_path)
    metrics = tmp_path / "metrics.prom"
    done(start_dbt(project, environment, "deps"))
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
    select = "select * from {{ collapsing.final(ref('sums')) }}"
    said = done(start_dbt(project, environment, "--quiet", "show", "--inline", select))
    assert str(KEYS) in said and str(KEYS * 5) in said, said
