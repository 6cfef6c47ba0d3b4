"""Processes of their own: commands of dbt, workers that run one after the other, and servers of scripts/cluster for them."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import jinja2
import yaml
from pyhive import hive
from pyspark.sql import SparkSession

REMOTE = f"sc://127.0.0.1:{os.environ.get('COLLAPSING_CONNECT_PORT', '15002')}"
REPOSITORY = Path(__file__).resolve().parents[3]
# Names of the jars of a format, among those that Spark has fetched.
JARS = {"delta": ("io.delta_*.jar", "io.unitycatalog_*.jar"), "iceberg": ("org.apache.iceberg_*.jar",)}


def server_environment(target: str) -> dict[str, str]:
    """Return the environment of a dbt process whose target is one of the servers."""
    environment = os.environ | {"DBT_TARGET": target, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    return environment | ({"SPARK_REMOTE": REMOTE} if target == "connect" else {})


def start(command: list, environment: dict[str, str], **streams) -> subprocess.Popen:
    """Start a command in a process group of its own, which is killed if it is still there when the tests end."""
    process = subprocess.Popen(command, text=True, env=environment, start_new_session=True, stdout=subprocess.PIPE, **streams)
    atexit.register(_kill, process)
    return process


def _kill(process: subprocess.Popen) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def start_dbt(project: Path, environment: dict[str, str], *command: str) -> subprocess.Popen:
    """Start a dbt command; what it says is on stdout."""
    given = ["--no-use-colors", *command, "--project-dir", project, "--profiles-dir", project]
    return start([sys.executable, "-m", "dbt.cli.main", *given], environment, stderr=subprocess.STDOUT)


def done(*processes: subprocess.Popen) -> str:
    """Wait for processes, which must succeed; returns what they have said."""
    said = "\n".join([process.communicate()[0] for process in processes])
    assert not any(process.returncode for process in processes), said
    return said


class Worker:
    """A process of support/worker.py, which is told one thing at a time."""

    def __init__(self, project: Path, schema: str, environment: dict[str, str]) -> None:
        self._complaints = project.parent / f"stderr_{os.urandom(4).hex()}"
        command = [sys.executable, "-m", "support.worker", str(project), schema]
        path = {"PYTHONPATH": str(Path(__file__).parents[1])}
        self._process = start(command, environment | path, stdin=subprocess.PIPE, stderr=self._complaints.open("w"))

    def tell(self, *dbt: str, variables: dict | None = None) -> None:
        """Let it begin a command of dbt."""
        self._tell({"dbt": dbt, "variables": variables})

    def answer(self) -> dict:
        """Wait until it has ended what it was told; returns its answer."""
        return json.loads(self._said("answer"))

    def dbt(self, *command: str, variables: dict | None = None) -> dict:
        """Let it run a command of dbt, and wait; returns its answer."""
        self.tell(*command, variables=variables)
        return self.answer()

    def rows(self, *queries: str) -> dict[str, list[tuple]]:
        """Return the rows of queries, which it reads."""
        self._tell({"rows": queries})
        return {query: [tuple(row) for row in rows] for query, rows in self.answer().items()}

    def kill_after(self, seconds: float) -> bool:
        """Kill its whole group when some time has passed; returns whether it was still at work."""
        ended, _, _ = select.select([self._process.stdout], [], [], seconds)
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        return not ended

    def _tell(self, told: dict) -> None:
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        self._said("begun")

    def _said(self, word: str) -> str:
        """Wait for the line that begins with a word; returns the rest of it. AssertionError when the process ends first."""
        for line in self._process.stdout:
            if line.startswith(word):
                return line.removeprefix(word).strip()
        ended = f"the worker ended before it said '{word}', with exit code {self._process.wait()}"
        raise AssertionError(f"{ended}: {self._complaints.read_text()[-4000:]}")


@contextmanager
def server(target: str, folder: Path) -> Iterator[dict[str, str]]:
    """Start a server of scripts/cluster, with the format of a target of profiles.yml; yields the environment of dbt's processes.

    FileNotFoundError if Spark has never fetched the jars of the format, as it does for any test of that target.
    """
    (folder / "conf").mkdir(parents=True)
    (folder / "conf" / "spark-defaults.conf").write_text(
        "".join(f"{name} {value}\n" for name, value in _settings_of_format(target).items())
    )
    with socket.socket() as thrift, socket.socket() as connect:
        thrift.bind(("127.0.0.1", 0))
        connect.bind(("127.0.0.1", 0))
        ports = [str(probe.getsockname()[1]) for probe in (thrift, connect)]
    environment = server_environment("cluster") | {
        "COLLAPSING_LOCAL": str(folder),
        "COLLAPSING_THRIFT_PORT": ports[0],
        "COLLAPSING_CONNECT_PORT": ports[1],
        "DBT_LOG_PATH": str(folder / "logs"),
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_DIST_CLASSPATH": ":".join(_jars_of_format(target)),
    }
    script = [sys.executable, str(REPOSITORY / "scripts" / "cluster.py")]
    subprocess.run([*script, "start", "--local"], env=environment, check=True)
    try:
        yield environment
    finally:
        subprocess.run([*script, "stop"], env=environment, check=True)


def _settings_of_format(target: str) -> dict[str, str]:
    """Return the settings of Spark that a target of profiles.yml has beside those of parquet, but for its jars."""
    templates = jinja2.Environment()
    templates.filters["as_number"] = int
    profiles = templates.from_string((REPOSITORY / "profiles" / "profiles.yml").read_text())
    profiles = yaml.safe_load(profiles.render(env_var=lambda name, default="": os.environ.get(name, default)))
    outputs = profiles["collapsing_demo"]["outputs"]
    plain, settings = outputs["parquet"]["server_side_parameters"], outputs[target]["server_side_parameters"]
    return {name: value for name, value in settings.items() if name not in plain and name != "spark.jars.packages"}


def _jars_of_format(target: str) -> list[str]:
    """Return the jars of a format: a Thrift server does not load them as packages."""
    found = []
    for pattern in JARS.get(target, ()):
        jars = sorted(path for ivy in Path.home().glob(".ivy2*") for path in ivy.glob(f"jars/{pattern}"))
        if not jars:
            raise FileNotFoundError(f"no {pattern} in ~/.ivy2*/jars: run any test with --target={target} first")
        found += map(str, jars)
    return found


def reader(target: str, schema: str) -> Callable[[str], list[tuple]]:
    """Return a function that reads rows by SQL through a server, `schema` being the current one."""
    if target == "connect":
        spark = SparkSession.builder.remote(REMOTE).create()
        spark.sql(f"use {schema}")
        return lambda query: [tuple(row) for row in spark.sql(query).collect()]
    cursor = hive.connect("127.0.0.1", int(os.environ.get("COLLAPSING_THRIFT_PORT", "10000")), database=schema).cursor()

    def rows(query: str) -> list[tuple]:
        cursor.execute(query)
        return cursor.fetchall() if cursor.description else []

    return rows


def rows_in_session(environment: dict[str, str], statements: Sequence[str]) -> list[tuple]:
    """Return the rows of the last of some statements, in a session of their own of a server that `server` has started."""
    with closing(hive.connect("127.0.0.1", int(environment["COLLAPSING_THRIFT_PORT"]))) as connection:
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []
