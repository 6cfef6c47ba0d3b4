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
    "create table archived.kept (id int, label string, ledger_sign tinyint, ledger_note string, ledger_batch int) using parquet "
    "partitioned by (ledger_batch) tblproperties ('archived' = '1')",
    "describe query select id, label from archived.kept",
    "describe table extended archived.kept",
    "show partitions archived.kept",
    "select label, count(*), min(id), max(id), grouping(label) from archived.kept group by grouping sets ((label), ())",
    "insert overwrite directory '{folder}/run' using parquet "
    "select id, label, cast(1 as tinyint) as ledger_sign, ledger_note from ("
    "with staged as (select cast(id as int) as id, concat('x', id) as label from range(10)), "
    "classified as (select /*+ broadcast(staged) */ staged.*, monotonically_increasing_id() as row_id, "
    "row_number() over (partition by staged.id order by staged.label) as place from staged left join archived.kept using (id)) "
    "select id, label, cast(null as string) as ledger_note from classified lateral view explode(array(1, 2)) as exploded "
    "union all select /*+ coalesce(1) */ null, null, to_json(named_struct('kind', 'commit', 'rows', count(*))) from classified)",
    "alter table archived.kept add partition (ledger_batch = 0) partition (ledger_batch = 1) location '{folder}/run'",
    "select from_json(ledger_note, 'kind string, batch int') from archived.kept where ledger_note is not null",
    "select kept.* from archived.kept as kept left anti join archived.kept as later on kept.id = later.id "
    "and later.ledger_batch > (select max(ledger_batch) from archived.kept where ledger_batch <= 0)",
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
            spark.sql(statement.format(folder=folder)).collect()
        spark.stop()
        # the archive is written when Java ends, which is when nobody writes to it any more
        java = SparkContext._gateway.proc
        java.stdin.close()
        java.wait()


if __name__ == "__main__":
    main()
