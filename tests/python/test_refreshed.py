"""What a table is after it was built again, optimized twice or undone: no row of an earlier life is lost or comes again."""

from __future__ import annotations

import json
import re

import pytest

from support.dbt_project import VIEW, DbtProject, Statements, Warnings, model, statement_of
from support.lives import operate
from support.targets import WITH_LOG

EVENTS = {"key": "id", "version": "position", "block": "block"}
WITHOUT_BLOCK = {"key": "id", "version": "position"}
COUNT = {"n": "count(*)"}
ROWS = """
values
    (1, 1, 1, 'a', 'b1'), (1, 2, -1, 'a', 'b1'), (1, 3, 1, 'b', 'b1'),
    (2, 4, 1, 'c', 'b2'), (1, 5, -1, 'b', 'b3'), (1, 6, 1, 'd', 'b3')
as t (id, position, sign, v, block)
"""
FILES = {
    "models/stage.sql": f"{VIEW}select * from {ROWS} where position <= {{{{ var('upto', 3) }}}}",
    "models/stage_of_states.sql": VIEW + "select id, position, v, block from {{ ref('stage') }} where sign = 1",
    "models/known.sql": model("ledger(ref('stage_of_states'))", WITHOUT_BLOCK),
    "models/orders.sql": model("ledger(ref('stage_of_states'))", EVENTS),
    "models/stage_of_bad.sql": VIEW + "select if(sign = -1, null, id) as id, position, v, block from {{ ref('stage') }}",
    "models/rejecting.sql": model("ledger(ref('stage_of_bad'))", EVENTS | {"on_bad_rows": "reject"}),
    "models/sums.sql": model("projection(ref('orders'))", {"group_by": [], "measures": COUNT}),
    "models/late.sql": model("ledger(ref('stage_of_states'))", EVENTS),
    "models/late_sums.sql": model("projection(ref('late'))", {"group_by": [], "measures": COUNT}),
    "models/gone.sql": model("ledger(ref('stage_of_states'))", WITHOUT_BLOCK),
    "models/gone_sums.sql": model("projection(ref('gone'))", {"group_by": [], "measures": COUNT}),
    "models/gone_new.sql": model("projection(ref('gone'))", {"group_by": ["v"], "measures": COUNT}),
    "models/late_before.sql": VIEW + "select * from {{ collapsing.final(ref('late'), as_of=0) }}",
    **{
        f"models/{of}_live.sql": VIEW + f"select * from {{{{ collapsing.final(ref('{of}')) }}}}"
        for of in ("known", "orders", "sums")
    },
}


@pytest.fixture(scope="module")
def project(make_project) -> DbtProject:
    """A project of ledgers with and without blocks, and a projection; all has been built of the first three rows."""
    project = make_project("refreshed", FILES)
    project.run("run", "--exclude", "gone_new")
    return project


def _live(project: DbtProject, name: str) -> list[tuple]:
    return project.rows(f"select id, v from refreshed.{name}_live order by 1")


def test_rows_of_an_undone_batch_are_new_without_blocks_too(project) -> None:
    project.run("run", "--select", "stage", "stage_of_states", "known", variables={"upto": 4})
    assert operate(project, "undo", model="known", batch=2).success
    for upto, live in ((3, [(1, "b")]), (4, [(1, "b"), (2, "c")])):
        project.run("run", "--select", "stage", "stage_of_states", "known", variables={"upto": upto})
        assert _live(project, "known") == live


@pytest.mark.full
def test_what_was_undone_is_not_kept_out_as_known_where_the_manifest_is_gone(project) -> None:
    """Without blocks the manifest says of nothing but undos what a run must know, and the rows show that there was one."""
    names = ("stage", "stage_of_states", "known")
    project.sql("alter table refreshed.known__manifest rename to refreshed.put_away")
    said = " ".join(project.fails("run", "--select", *names, variables={"upto": 4}).split())
    assert "refreshed.known__manifest, which lists the batches" in said and "is missing" in said
    project.sql("alter table refreshed.put_away rename to refreshed.known__manifest")
    project.run("run", "--select", *names, variables={"upto": 4})
    assert project.rows("select id, sum(ledger_sign) from refreshed.known group by id order by id") == [(1, 1), (2, 1)]


def test_a_base_that_is_written_twice_is_not_replaced_by_nothing(project) -> None:
    """As where a connection sends a statement again whose answer was lost."""
    project.run("run", "--select", "stage", "stage_of_states", "orders", "sums", variables={"upto": 4})
    sent: list[str] = []
    hears = [lambda event: sent.append(event.data.sql) if statement_of(event) else None]
    assert operate(project, "optimize", model="orders", callbacks=hears).success
    [statement] = [one for one in sent if re.search(r"^ *insert \w+ (table )?refreshed\.orders ", one, re.MULTILINE)]
    before = project.rows("select * from refreshed.orders")
    with pytest.raises(Exception, match="orders has been optimized or rebuilt meanwhile: nothing was changed"):
        project.sql(statement).collect()
    assert project.rows("select * from refreshed.orders") == before
    assert _live(project, "orders") == [(1, "b"), (2, "c")]


@pytest.mark.only("parquet")  # writes the base as a partition
def test_a_projection_reads_no_batches_that_a_base_has_replaced(project) -> None:
    """As where another process builds the ledger anew before the projection's insert reads it."""
    project.run("run", "--select", "stage", "stage_of_states", "orders", variables={"upto": 6})
    before = project.rows("select * from refreshed.sums")
    columns = "id, position, v, ledger_sign, ledger_block"

    def rebuild(statement: str) -> None:
        if statement.startswith("insert overwrite table refreshed.sums "):
            project.sql(f"insert into refreshed.orders select {columns}, -9 from refreshed.orders where ledger_batch > 0")

    said = project.fails("run", "--select", "sums", callbacks=[Statements("model.refreshed.sums", before=rebuild)])
    assert "orders has been optimized or rebuilt meanwhile: nothing was changed. Run it again" in " ".join(said.split())
    assert project.rows("select * from refreshed.sums") == before
    project.sql("alter table refreshed.orders drop partition (ledger_batch = -9)")
    project.run("run", "--select", "sums")
    assert project.rows("select n from refreshed.sums_live") == [(2,)]


@pytest.mark.full
def test_a_new_table_is_no_part_of_what_an_optimize_of_the_old_one_has_left(project) -> None:
    """On parquet <table>__dropped owns the folders of dropped batches, to which a table that is created again writes."""
    names = ("stage", "stage_of_states", "orders")
    project.run("run", "--select", *names, variables={"upto": 6})
    assert operate(project, "optimize", model="orders").success
    for settings in (EVENTS | {"engine": "replacing"}, EVENTS):
        project.write("models/orders.sql", model("ledger(ref('stage_of_states'))", settings))
        project.run("run", "--full-refresh", "--select", *names, "orders_live", variables={"upto": 6})
        assert operate(project, "optimize", model="orders").success
        assert _live(project, "orders") == [(1, "d"), (2, "c")]


@pytest.mark.full
def test_a_projection_of_other_measures_is_rebuilt_and_its_views_are_named(project) -> None:
    names = ("stage", "stage_of_states", "orders", "sums")
    project.write("models/sums.sql", model("projection(ref('orders'))", {"group_by": [], "measures": COUNT | {"of": "sum(id)"}}))
    said = " ".join(project.fails("run", "--select", "sums_live").split())
    assert "its table refreshed.sums was built with a different group_by or different measures from those that the model" in said
    warned = Warnings()
    assert project.invoke("run", "--select", *names, variables={"upto": 6}, callbacks=[warned]).success
    assert "its columns or settings have changed: run the views that read it again: sums_live" in " ".join(str(warned).split())
    project.run("run", "--select", "sums_live")
    assert project.rows("select n, of from refreshed.sums_live") == [(2, 3)]


def test_a_base_that_a_projection_has_not_read_is_not_marked_as_read(project) -> None:
    read = project.batches("refreshed.sums")
    project.run("run", "--full-refresh", "--select", "orders", variables={"upto": 6})
    assert operate(project, "optimize", model="orders").success
    assert project.batches("refreshed.sums") == read
    project.run("run", "--select", "sums", variables={"upto": 6})
    assert project.batches("refreshed.sums")[0] == project.batches("refreshed.orders")[0] not in read


def test_a_ledger_has_no_state_before_its_first_batch_once_that_is_in_a_base(project) -> None:
    assert project.rows("select * from refreshed.late_before") == []
    assert operate(project, "optimize", model="late").success
    with pytest.raises(Exception, match="late has no state as_of=0 any more"):
        project.rows("select * from refreshed.late_before")
    names = ("stage", "stage_of_states", "late")
    assert "late was optimized or rebuilt later" in project.fails("run", "--select", *names, "late_before", variables={"upto": 4})
    project.run("run", "--select", "late_sums")
    assert project.batches_that_count("refreshed.late") == project.batches("refreshed.late_sums") == [1, 2]


@pytest.mark.full
def test_a_projection_of_another_environment_is_not_marked_as_having_read_this_one(project) -> None:
    """As with --defer: of its own table it has not read the batches that add nothing here, but have the same numbers."""
    table, property_ = "refreshed.late_sums", "collapsing.projection"
    [(_, kept)] = project.rows(f"show tblproperties {table} ('{property_}')")
    elsewhere = json.dumps(json.loads(bytes.fromhex(kept)) | {"source": "production.late"}).encode().hex()
    project.sql(f"alter table {table} set tblproperties ('{property_}' = '{elsewhere}')")
    project.write("models/stage_of_states.sql", VIEW + "select id, position, v, 'again' as block from {{ ref('stage') }} limit 1")
    project.run("run", "--select", "stage_of_states", "late", variables={"upto": 6})
    project.write("models/stage_of_states.sql", FILES["models/stage_of_states.sql"])
    project.run("run", "--select", "stage_of_states")
    read, batches = project.batches(table), project.batches("refreshed.late")
    assert read[-1] < batches[-1]
    assert operate(project, "optimize", model="late").success
    assert project.batches(table) == read and project.batches("refreshed.late") == [-batches[-1]]
    project.run("run", "--select", "late_sums")
    assert project.batches_that_count(table) == [batches[-1]]


def test_what_has_read_a_ledger_that_is_empty_since_its_rebuild_is_behind(project, capsys) -> None:
    """And what is built upon the base without a row is not."""

    def readers() -> dict[str, int]:
        capsys.readouterr()
        assert operate(project, "status", model="gone", format="json").success
        [figures] = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
        return {reader["name"]: reader["lag_batches"] for reader in figures["readers"]}

    names = ["stage", "stage_of_states", "gone"]
    project.run("run", "--full-refresh", "--select", *names, variables={"upto": 0})
    assert project.batches("refreshed.gone") == [-2] and project.batches("refreshed.gone_sums") == [1]
    assert readers() == {"gone_sums": 1, "gone_new": 0}
    project.run("run", "--select", "gone_sums", "gone_new")
    assert readers() == {"gone_sums": 0, "gone_new": 0}


@pytest.mark.only("parquet")
def test_a_manifest_that_was_copied_without_its_option_is_not_overwritten(project) -> None:
    """Spark's own default replaces a whole table where a batch of it is overwritten."""
    manifest, saved = "refreshed.orders__manifest", "refreshed.saved"
    project.sql(f"create table {saved} using parquet as select * from {manifest}")
    project.sql(f"drop table {manifest}")
    project.sql(f"create table {manifest} using parquet partitioned by (ledger_batch) as select * from {saved}")
    said = " ".join(project.fails("run", "--select", "orders", variables={"upto": 6}).split())
    assert "orders__manifest was created without the option partitionOverwriteMode dynamic" in said
    project.sql(f"drop table {manifest}")
    project.sql(f"create table {manifest} like refreshed.rejecting__manifest")
    project.sql(f"insert into {manifest} select * from {saved}")
    before = project.batches("refreshed.orders")
    project.run("run", "--select", "orders", variables={"upto": 6})
    assert project.batches("refreshed.orders") == before


def test_a_full_refresh_without_rows_is_refused_and_leaves_projections(project) -> None:
    said = project.fails("run", "--empty", "--full-refresh", "--select", "orders")
    assert "--empty and a full refresh do not go together" in said
    before = project.rows("select * from refreshed.sums_live")
    for command in (("--empty", "--full-refresh"), ()):
        project.run("run", *command, "--select", "sums")
        assert project.rows("select * from refreshed.sums_live") == before


@pytest.mark.full
def test_a_full_refresh_that_takes_the_setting_block_away_does_not_lose_blocks_unheard(project) -> None:
    before = project.rows("select * from refreshed.orders")
    text = (project.directory / "models/orders.sql").read_text()
    project.write("models/orders.sql", model("ledger(ref('stage_of_states'))", WITHOUT_BLOCK))
    said = " ".join(project.fails("run", "--full-refresh", "--select", "orders").split())
    assert "it has folded blocks, and without the setting 'block' a full refresh cannot tell whether the stage still has" in said
    project.write("models/orders.sql", text)
    assert project.rows("select * from refreshed.orders") == before


def test_what_a_dead_run_has_rejected_does_not_count_with_an_undo(project) -> None:
    """The undo gets the number of the batch that was never committed."""
    rejects = project.sql("select * from refreshed.rejecting__rejects")
    assert [row.ledger_batch for row in rejects.collect()] == [1]
    columns = ", ".join(column if column != "ledger_batch" else "2" for column in rejects.columns)
    project.sql(f"insert into refreshed.rejecting__rejects select {columns} from refreshed.rejecting__rejects")
    assert operate(project, "undo", model="rejecting", batch=1).success
    assert project.batches("refreshed.rejecting") == [1, 2]
    assert project.rows("select ledger_batch from refreshed.rejecting__rejects") == [(1,)]


@pytest.mark.only(*WITH_LOG)
def test_a_full_refresh_gives_a_ledger_the_format_that_the_model_has_now(make_project, target: str) -> None:
    """And an ordinary run a projection, which is built again anyway."""
    of_parquet = "{{ config(file_format='parquet') }}\n"
    files = {
        "models/stage.sql": VIEW + "select 1 as id, 1 as position, 'a' as v, 'b' as block",
        "models/orders.sql": model("ledger(ref('stage'))", EVENTS),
        "models/sums.sql": model("projection(ref('orders'))", {"group_by": ["v"], "measures": COUNT}),
        "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('sums')) }}",
    }
    project = make_project(
        "formats", files | {f"models/{name}.sql": of_parquet + files[f"models/{name}.sql"] for name in ("orders", "sums")}
    )
    project.run("run")
    for name in ("sums", "orders"):
        project.write(f"models/{name}.sql", files[f"models/{name}.sql"])
    assert "is not one that this package has created, in the format of the model" in project.fails("run", "--select", "orders")
    project.run("run", "--full-refresh", "--select", "orders")
    for _ in range(2):
        project.run("run", "--select", "orders", "sums", "live")
        assert project.rows("select * from formats.live") == [("a", 1)]
    for name in ("orders", "sums"):
        assert ("Provider", target) in [row[:2] for row in project.rows(f"describe table extended formats.{name}")]
