"""The examples of docs/scheduling.md: they compile, and are what they say once they are loaded beside Airflow and Dagster."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.dbt_project import LEDGER, REPOSITORY, VIEW, model, stranger_files, write_files
from support.processes import done, start_dbt

pytestmark = pytest.mark.only("parquet")

EXAMPLES = REPOSITORY / "docs" / "examples"
# What each needs, and what a process says of it once it is loaded.
LOADED = {
    "airflow_plain": (
        ["apache-airflow==3.3.2", "apache-airflow-providers-standard==1.21.0"],
        "[sorted(dag.task_ids) for dag in (example.fold, example.optimize)]",
        [["run", "status"], ["optimize", "tests"]],
    ),
    "airflow_cosmos": (
        ["apache-airflow==3.3.2", "apache-airflow-providers-standard==1.21.0", "astronomer-cosmos==1.15.1"],
        "sorted(example.dag.task_ids)",
        ["models.orders_run", "models.sums_run", "status"],
    ),
    "dagster_assets": (
        ["dagster==1.13.27", "dagster-dbt==0.29.27", "dbt-core==1.11.16", "dbt-spark==1.11.0"],
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


def _block(language: str, begin: str) -> str:
    """Return the code of docs/scheduling.md that begins so."""
    text = (REPOSITORY / "docs" / "scheduling.md").read_text()
    return next(
        code for code in re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if code.startswith(begin)
    )


def _lines_of_cron() -> dict[str, str]:
    """Return the commands of cron in docs/scheduling.md, {dbt command: line without its fields of time}."""
    text = (REPOSITORY / "docs" / "scheduling.md").read_text()
    lines = re.findall(r"^(?:\S+ ){5} *(cd /srv/shop && .*flock .*)$", text, re.MULTILINE)
    return {re.search(r"dbt (?:--\S+ )+([\w-]+(?: collapsing\.\w+)?)", line)[1]: line for line in lines}


def test_cron_runs_what_the_docs_say() -> None:
    assert list(_lines_of_cron()) == ["run", "run-operation collapsing.status", "run-operation collapsing.optimize", "test"]


@pytest.mark.parametrize(
    ("listed", "wrong"),
    [
        ([], "0 models"),
        ([{"model": "orders", "state": "unfinished"}], "orders is unfinished"),
        ([{"model": "orders", "state": "built", "unread_blocks": 21, "lag_batches": 0}], "unread_blocks is 21, the limit 20"),
        ([{"model": "orders", "state": "built", "unread_blocks": None, "lag_batches": 5}], None),
    ],
)
def test_limits_fail_where_something_is_wrong(listed: list, wrong: str | None) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _block("python", "# limits.py")], input=json.dumps(listed), capture_output=True, text=True
    )
    assert bool(ended.returncode) == bool(wrong) and (wrong or "within the limits") in ended.stdout, ended


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[subprocess.Popen]:
    """The loop of the docs at work on tmp_path/landing, with a dbt that notes in tmp_path/runs when it begins and ends."""
    (tmp_path / "landing").mkdir()
    for name, code in {
        "dbt": '#!/bin/sh\necho "begin $*" >> runs\nsleep 1\necho end >> runs\n',
        "fold.sh": _block("bash", "#!/usr/bin/env bash\n# fold.sh"),
    }.items():
        (tmp_path / name).write_text(code)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "runs").touch()
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with subprocess.Popen(["./fold.sh", "landing", "0.2"], cwd=tmp_path, env=environment, start_new_session=True) as process:
        yield process
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_the_loop_runs_once_for_what_has_landed_and_ends_after_the_run_that_is_at_work(
    loop: subprocess.Popen, tmp_path: Path
) -> None:
    def runs(wanted: int) -> list[str]:
        until = time.monotonic() + 10
        while len(noted := (tmp_path / "runs").read_text().splitlines()) < wanted and time.monotonic() < until:
            time.sleep(0.05)
        return noted

    run = ["begin --no-use-colors run --select config.materialized:incremental_ledger+", "end"]
    time.sleep(0.5)
    (tmp_path / "landing" / "_b1.json").touch()
    time.sleep(0.5)
    assert runs(0) == []
    (tmp_path / "landing" / "_b1.json").rename(tmp_path / "landing" / "b1.json")
    assert runs(2) == run
    time.sleep(0.7)
    assert runs(0) == run
    (tmp_path / "landing" / "b2.json").touch()
    assert runs(3) == [*run, run[0]]
    loop.terminate()
    assert loop.wait(10) == 0
    assert runs(0) == run * 2


@pytest.mark.full
def test_two_lines_of_cron_at_the_same_minute_need_no_hand(tmp_path: Path) -> None:
    """On one machine with an embedded metastore: the run that finds another at work ends well, and status waits for its turn."""
    project, landing = tmp_path / "shop", tmp_path / "landing"
    files = {
        "models/stage.sql": VIEW + f"select id, version, _metadata.file_name as block from json.`{landing}`",
        "models/orders.sql": model("ledger(ref('stage'))", {"key": "id", "version": "version", "block": "block"}),
        "models/sums.sql": model(
            "projection(ref('orders'))", {"group_by": [], "measures": {"n": "count(*)", "total": "sum(version)"}}
        ),
        "limits.py": _block("python", "# limits.py"),
        "logs/.gitkeep": "",
        "log4j2.properties": (REPOSITORY / "profiles" / "log4j2.properties").read_text(),
    }
    write_files(project, files | stranger_files("shop"))
    landing.mkdir()
    local = tmp_path / "local"
    local.mkdir()
    environment = os.environ | {
        "COLLAPSING_LOCAL": str(local),
        "DBT_PROFILES_DIR": str(project),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }

    def land(minute: int) -> None:
        hidden = landing / f".{minute}"
        hidden.write_text("".join(json.dumps({"id": id_, "version": minute}) + "\n" for id_ in (0, minute)))
        hidden.rename(landing / f"b{minute}.json")

    def start(line: str) -> subprocess.Popen:
        line = line.replace("/srv/shop", str(project)).replace("logger -p user.err -t shop", "exit 9 #")
        return subprocess.Popen(["/bin/sh", "-c", line], env=environment)

    land(1)
    done(start_dbt(project, environment, "deps"))
    done(start_dbt(project, environment, "run"))
    lines = _lines_of_cron()
    at_once = [lines["run"], lines["run"], lines["run-operation collapsing.status"]]
    for minute in (2, 3):
        land(minute)
        assert [one.wait() for one in [start(line) for line in at_once]] == [0, 0, 0], _log(project)
    assert [start(lines[command]).wait() for command in ("run-operation collapsing.optimize", "run")] == [0, 0], _log(project)
    select = "select * from {{ collapsing.final(ref('sums')) }}"
    shown = done(start_dbt(project, environment, "--quiet", "show", "--inline", select, "--output", "json"))
    assert '"n": 4' in shown and '"total": 9' in shown, shown


def _log(project: Path) -> str:
    """Return what the commands of cron have said."""
    return "\n".join(path.read_text() for path in sorted((project / "logs").glob("*.log")) if path.name != "dbt.log")


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
    environment = os.environ | {
        "COLLAPSING_LOCAL": str(tmp_path),
        "DBT_LOG_PATH": str(tmp_path / "logs"),
        "DBT_WRITE_JSON": "true",
    }
    for command in ("deps", "parse"):
        done(start_dbt(project, environment, command))
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "--quiet", *packages], check=True)
    environment |= {"DBT_PROJECT_DIR": str(project), "AIRFLOW_HOME": str(tmp_path / "airflow"), "PYTHONPATH": str(EXAMPLES)}
    environment |= {"PATH": f"{venv / 'bin'}:{os.environ['PATH']}"}
    load = f"import json, {name} as example\nprint(json.dumps({said}))"
    ended = subprocess.run([venv / "bin" / "python", "-c", load], env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert json.loads(ended.stdout.splitlines()[-1]) == expected
