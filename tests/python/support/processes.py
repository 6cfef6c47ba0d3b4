"""Commands of dbt in processes of their own, which work at the same time through one server of scripts/cluster."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from pyhive import hive
from pyspark.sql import SparkSession

REMOTE = f"sc://127.0.0.1:{os.environ.get('COLLAPSING_CONNECT_PORT', '15002')}"


def server_environment(target: str) -> dict[str, str]:
    """Return the environment of a dbt process whose target is one of the servers."""
    environment = os.environ | {"DBT_TARGET": target, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    return environment | ({"SPARK_REMOTE": REMOTE} if target == "connect" else {})


def start(command: list, environment: dict[str, str], **streams: int) -> subprocess.Popen:
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
