"""Fixtures: one Spark session for the process, this repository as a dbt project, and a stranger's project that installs it."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

import pytest
from dbt_project import DbtProject, stranger_files
from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).resolve().parents[2]


TARGETS = ("parquet", "delta", "iceberg", "cluster", "connect")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the longest suites at full length")
    parser.addoption(
        "--target",
        action="append",
        choices=TARGETS,
        default=[],
        help="run the cases of a target of profiles.yml too, which may fetch jars or need scripts/cluster start; may be repeated",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: a case that only --full runs; others of its kind always run")
    config.addinivalue_line("markers", "target(name): a case of a target of profiles.yml, which only --target name runs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases that --full or --target has to ask for; pytest says how many were deselected."""
    targets = config.getoption("--target")
    left_out = [item for item in items if item.get_closest_marker("full") and not config.getoption("--full")]
    left_out += [item for item in items if any(mark.args[0] not in targets for mark in item.iter_markers("target"))]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether the longest suites run at full length."""
    return request.config.getoption("--full")


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of warehouse, metastore and logs for this process; set before Spark starts, and removed with it."""
    folder = tmp_path_factory.mktemp("local")
    os.environ |= {
        "COLLAPSING_LOCAL": str(folder),
        "DBT_PROFILES_DIR": str(REPOSITORY / "profiles"),
        "DBT_LOG_PATH": str(folder / "logs"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    (folder / "landing" / "flight_events").mkdir(parents=True)
    # what it says, the exception says again
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    return folder


@pytest.fixture(scope="session")
def spark(local: Path) -> SparkSession:
    """The Spark session of this process, started by dbt, so that it has the settings of the profile."""
    project = DbtProject(REPOSITORY, REPOSITORY / "profiles", schema="demo", target=local / "target")
    project.run("show", "--inline", "select 1")
    return SparkSession.builder.getOrCreate()


@pytest.fixture(scope="session")
def repository(spark: SparkSession, local: Path) -> DbtProject:
    """This repository's own project: the examples and the flights."""
    return DbtProject(REPOSITORY, REPOSITORY / "profiles", schema="demo", target=local / "target")


@pytest.fixture(scope="session")
def make_project(spark: SparkSession, local: Path, tmp_path_factory: pytest.TempPathFactory):
    """Gives a function that makes a project of a stranger's, with the package installed from this repository."""

    def make(name: str, files: dict[str, str]) -> DbtProject:
        directory = tmp_path_factory.mktemp(name)
        project = DbtProject(directory, directory, schema=name, target=directory / "target")
        files = stranger_files(REPOSITORY, name) | files
        for path, text in files.items():
            project.write(path, text)
        project.run("deps")
        return project

    yield make
    shutil.rmtree(local, ignore_errors=True)
