"""Settings of the Spark sessions that dbt-spark makes: those of a session that is over after minutes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dbt.adapters.spark.connections import SparkCredentials
from pyspark.sql import SparkSession

# What suits a session that lives for minutes, beside another one on two cores. Java: without the second compiler, which would
# fill both cores, with more room for the code of the first, and with room for what small queries leave behind.
JAVA_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=512m", "-XX:+UseSerialGC", "-Xms1g", "-Xmn600m")
# Spark: one task where two have nothing to share; small queries are planned once and interpreted, for planning again and
# compiling take longer; no long records of those that are over.
SHORT_LIVED = {
    "spark.master": "local[1]",
    "spark.sql.shuffle.partitions": "1",
    "spark.buffer.pageSize": "256k",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
}
# Defaults of Spark 4: what a test makes without `using` is no Hive table, and old dates are written as they are.
# The package says what it makes, and docs/platforms.md that Spark 3.5 refuses such dates.
OF_SPARK_4 = {
    "spark.sql.legacy.createHiveTableByDefault": "false",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
}
# The jar that scripts/setup.sh fetches, see there; where there is none, local files are Hadoop's.
LOCAL_FILES = {"spark.jars": os.environ["COLLAPSING_LOCAL_FILES"]} if "COLLAPSING_LOCAL_FILES" in os.environ else {}
# A third of a small run's time goes into Hive's metastore, which --full and the demo have.
IN_MEMORY = {"spark.sql.catalogImplementation": "in-memory"}


def set_once() -> None:
    """Have pyspark set the settings of a session once: dbt-spark asks for the session before each statement, with all of them."""
    as_pyspark_has_it, last = SparkSession.Builder.getOrCreate, {}

    def get_or_create(builder: SparkSession.Builder) -> SparkSession:
        options, session = dict(builder._options), SparkSession._instantiatedSession
        if session is None or options != last.get(session):
            session = as_pyspark_has_it(builder)
            if options:
                last[session] = options
        return session

    SparkSession.Builder.getOrCreate = get_or_create


def set_in_sessions(settings: dict[str, str]) -> Callable[[], None]:
    """Have settings in the sessions that dbt-spark makes, over those of the profile and over its own word on ANSI.

    Returns a function that ends it: a command of dbt sets what its credentials have each time that it begins.
    """
    as_dbt_has_it = SparkCredentials.__post_init__

    def with_settings(credentials: SparkCredentials) -> None:
        as_dbt_has_it(credentials)
        credentials.server_side_parameters.update(settings)

    SparkCredentials.__post_init__ = with_settings
    return lambda: setattr(SparkCredentials, "__post_init__", as_dbt_has_it)


def use_local_files(spark: SparkSession) -> None:
    """Have the class in LOCAL_FILES write local files. No setting can: Java would look for it before Spark has added the jar."""
    if LOCAL_FILES:
        files, settings = spark._jvm.org.apache.hadoop.fs.FileSystem, spark.sparkContext._jsc.hadoopConfiguration()
        settings.set("fs.file.impl", "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem")
        files.closeAll()
        # whoever asks first, with settings of their own, has it made for all
        files.get(spark._jvm.java.net.URI("file:///"), settings)


@contextmanager
def sessions_with(settings: dict[str, str]) -> Iterator[None]:
    """Have settings in the sessions that dbt-spark makes, as set_in_sessions does, for as long as the block lasts."""
    session = SparkSession._instantiatedSession
    # what the profile does not name would stay for later tests
    before = {name: session.conf.get(name, None) for name in settings if session.conf.isModifiable(name)} if session else {}
    end = set_in_sessions(settings)
    try:
        yield
    finally:
        end()
        for name, value in before.items():
            session.conf.unset(name) if value is None else session.conf.set(name, value)
