"""Ask of Spark what a ledger's runs ask, so that Java archives the classes: run by setup.sh with -XX:ArchiveClassesAtExit.

A session loads some 20,000 classes. Java reads, checks and links each of them anew in every process, unless they come out of an
archive, which it maps into memory (JEP 350, dynamic CDS archives).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

STATEMENTS = (
    "create schema archived",
    "create table archived.kept (id int, label string, at timestamp, ledger_batch int) using parquet "
    "options ('partitionOverwriteMode' 'dynamic') partitioned by (ledger_batch)",
    "insert overwrite table archived.kept partition (ledger_batch = 1) select id, 'x', now() from range(10)",
    "create or replace temporary view staged as select *, to_json(struct(id, at)) as json from archived.kept",
    "cache table classified as select staged.*, row_number() over (partition by id order by at) as place from staged "
    "left semi join (select id from range(4)) using (id)",
    "select id, exploded, json from classified lateral view explode(array(1, 2)) as exploded order by id",
    "select label, count(*), max(struct(id, at)) from classified group by label",
    "describe table extended archived.kept",
    "show partitions archived.kept",
    "show tables in archived like '*'",
)


def main() -> None:
    """Run the statements in a session with Hive's metastore, in a folder that is removed, and let Java come to its own end."""
    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master("local[1]").enableHiveSupport().config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.warehouse.dir", str(Path(folder, "warehouse")))
        builder = builder.config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:{folder}/metastore;create=true")
        spark = builder.config("spark.driver.extraJavaOptions", f'-Dderby.stream.error.file="{folder}/derby.log"').getOrCreate()
        for statement in STATEMENTS:
            spark.sql(statement).collect()
        spark.stop()
        # the archive is written when Java ends, which is when nobody writes to it any more
        java = SparkContext._gateway.proc
        java.stdin.close()
        java.wait()


if __name__ == "__main__":
    main()
