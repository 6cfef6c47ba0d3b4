"""Fixtures: one Spark session for the process, this repository as a dbt project, and a stranger's project that installs it."""

from __future__ import annotations

import gc
import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.targets import SERVERS, TARGETS

if TYPE_CHECKING:
    # the process that starts the two that run tests needs neither dbt nor Spark
    from pyspark.sql import SparkSession

    from support.dbt_project import DbtProject


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the longest suites at full length")
    parser.addoption(
        "--target",
        choices=[*TARGETS],
        default="parquet",
        help="of profiles.yml: delta, iceberg and s3 may fetch jars, cluster and connect ask for scripts/cluster start",
    )
    parser.addoption("--hive", action="store_true", help="with the tables in Hive's metastore, as --full has them")
    parser.addoption("--defaults", action="store_true", help="with the partitions that Spark and Delta have by default")
    parser.addoption(
        "--ansi", action="store_true", help="run Spark inside of the process in its ANSI mode, which dbt-spark turns off"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: a case that only --full runs")
    config.addinivalue_line("markers", "only(*targets): a case of these targets alone; others run on every one")


# Files that take long, the longest first: two processes that take them in this order end at about the same time.
LONG = (
    "test_kill.py",
    "test_optimize.py",
    "test_protocol.py",
    "test_feeds.py",
    "test_intake.py",
    "test_changed_rules.py",
    "test_status.py",
    "test_refreshed.py",
    "test_engines.py",
    "test_package.py",
    "test_generic_tests.py",
    "test_flights.py",
    "test_row_sql.py",
    "test_unit_tests.py",
    "test_corners.py",
    "test_undo.py",
    "test_starter.py",
    "test_crash.py",
    "test_projections.py",
    "test_recipes.py",
    "test_examples.py",
    "test_batch_equal.py",
    "test_consumer.py",
    "test_bad_rows.py",
    "test_upkeep.py",
    "test_costs.py",
    "test_restored.py",
    "test_types.py",
    "test_measures.py",
    "test_clickhouse.py",
    "test_stages.py",
    "test_decisions.py",
    "test_sequences.py",
    "test_settings.py",
    "test_odd_stages.py",
    "test_report.py",
)


# Files that build this repository's own models, which takes seconds to parse: one process has them all.
OF_REPOSITORY = ("test_unit_tests.py", "test_flights.py", "test_examples.py", "test_recipes.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log) -> object | None:
    """Return what gives each process whole files, as `--dist loadfile` does, and one of them all that are of the repository."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return "repository" if Path(file).name in OF_REPOSITORY else file

    return Scheduling(config, log)


def is_short_lived(config: pytest.Config) -> bool:
    """Return whether the session has the settings of one that is over after minutes."""
    is_long = config.getoption("--full") or config.getoption("--defaults")
    return config.getoption("--target") == "parquet" and not is_long


def is_in_memory(config: pytest.Config) -> bool:
    """Return whether the tables are in a catalog that ends with the session."""
    return is_short_lived(config) and not config.getoption("--hive")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the long files first, and leave out cases of other targets and of --full; pytest says how many were deselected."""
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))
    target = config.getoption("--target")
    left_out = []
    for item in items:
        is_for_later = item.get_closest_marker("full") and not config.getoption("--full")
        allowed = [mark.args for mark in item.iter_markers("only")] or [tuple(TARGETS)]
        if is_for_later or not all(target in targets for targets in allowed):
            left_out.append(item)
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def target(request: pytest.FixtureRequest) -> str:
    """The target of profiles.yml that is tested."""
    return request.config.getoption("--target")


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether the longest suites run at full length."""
    return request.config.getoption("--full")


@pytest.fixture(scope="session")
def object_store() -> Iterator[dict[str, str]]:
    """An S3 server in this process, with a bucket; returns the environment of its target in profiles.yml."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    endpoint = "http://{}:{}".format(*server.get_host_and_port())
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "COLLAPSING_S3_BUCKET")
    environment = dict.fromkeys(names, "collapsing") | {"AWS_REGION": "us-east-1", "COLLAPSING_S3_ENDPOINT": endpoint}
    client = boto3.client(
        "s3", environment["AWS_REGION"], endpoint_url=endpoint, aws_access_key_id=names[0], aws_secret_access_key=names[1]
    )
    client.create_bucket(Bucket=environment["COLLAPSING_S3_BUCKET"])
    yield environment
    server.stop()


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory, target: str, request: pytest.FixtureRequest) -> Path:
    """The folder of warehouse, metastore and logs for this process; set before Spark starts, and removed with it."""
    from support.dbt_project import REPOSITORY
    from support.processes import REMOTE
    from support.sessions import IN_MEMORY, JAVA_OPTIONS, LOCAL_FILES, OF_SPARK_4, SHORT_LIVED, set_in_sessions, set_once

    folder = tmp_path_factory.mktemp("local")
    gc.set_threshold(100_000)  # each project's manifest lives on, and Python would look through them all again and again
    os.environ |= {
        "COLLAPSING_LOCAL": str(folder),
        "DBT_PROFILES_DIR": str(REPOSITORY / "profiles"),
        "DBT_LOG_PATH": str(folder / "logs"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "DBT_TARGET": target,
        "DBT_LOG_LEVEL_FILE": "info",
        "DBT_WRITE_JSON": "false",  # for those who need them, --write-json
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    if request.config.getoption("--defaults"):
        os.environ |= {"COLLAPSING_PARTITIONS": "200", "COLLAPSING_SNAPSHOT_PARTITIONS": "50"}
    if is_short_lived(request.config):
        os.environ["SPARK_SUBMIT_OPTS"] = " ".join([os.environ.get("SPARK_SUBMIT_OPTS", ""), *JAVA_OPTIONS])
        set_in_sessions(SHORT_LIVED | LOCAL_FILES | (IN_MEMORY if is_in_memory(request.config) else {}))
    for stage in ("flight_events", "aircraft_events"):
        (folder / "landing" / stage).mkdir(parents=True)
    if target == "s3":
        os.environ |= request.getfixturevalue("object_store")
    if target not in SERVERS:
        set_once()
        set_in_sessions(OF_SPARK_4)
    if target in SERVERS:
        os.environ["SPARK_REMOTE"] = REMOTE  # the session of the tests, which both servers share, and dbt's on connect
    if request.config.getoption("--ansi"):
        set_in_sessions({"spark.sql.ansi.enabled": "true"})
    # what it says, the exception says again
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    return folder


@pytest.fixture(scope="session")
def repository(local: Path, target: str) -> DbtProject:
    """This repository's own project: the examples and the flights."""
    from support.dbt_project import REPOSITORY, DbtProject

    return DbtProject(REPOSITORY, REPOSITORY / "profiles", schema=TARGETS[target], target=local / "target")


@pytest.fixture(scope="session")
def spark(repository: DbtProject, request: pytest.FixtureRequest) -> SparkSession:
    """The Spark session of this process, started by dbt, so that it has the settings of the profile."""
    from pyspark.sql import SparkSession

    from support.sessions import use_local_files

    assert repository.invoke("debug", "--connection").success
    session = SparkSession.builder.getOrCreate()
    assert request.config.getoption("--target") == "cluster" or request.config.getoption("--ansi") == (
        session.conf.get("spark.sql.ansi.enabled") == "true"
    )
    if is_short_lived(request.config):
        use_local_files(session)
    return session


@pytest.fixture(scope="session")
def macros_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as a folder without the models of this repository, which take half of the time of a stranger's parse."""
    from support.dbt_project import REPOSITORY

    folder = tmp_path_factory.mktemp("package")
    (folder / "tests").mkdir()
    for path in ("dbt_project.yml", "macros", "tests/generic"):
        (folder / path).symlink_to(REPOSITORY / path)
    return folder


@pytest.fixture(scope="session")
def make_project(spark: SparkSession, local: Path, target: str, macros_alone: Path, tmp_path_factory: pytest.TempPathFactory):
    """Returns a function that makes a project of a stranger's with the package installed, by default its macros alone."""
    from support.dbt_project import DbtProject, stranger_files, write_files

    def make(name: str, files: dict[str, str], package: Path = macros_alone) -> DbtProject:
        directory = tmp_path_factory.mktemp(name)
        project = DbtProject(directory, directory, schema=name, target=directory / "target")
        write_files(directory, stranger_files(name, target, package) | files)
        if target in SERVERS:
            for (schema,) in spark.sql(f"show schemas like '{name}|{name}_*'").collect():
                spark.sql(f"drop schema {schema} cascade")  # a server keeps what earlier tests left
        if package == macros_alone:  # what deps would do, without asking git and the hub's cache
            (directory / "dbt_packages").mkdir()
            (directory / "dbt_packages" / "collapsing").symlink_to(package)
        else:
            project.run("deps")
        return project

    yield make
    shutil.rmtree(local, ignore_errors=True)
