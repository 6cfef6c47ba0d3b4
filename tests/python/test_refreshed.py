"""What a table is after it was built again, optimized twice or taken back: no row of an earlier life is lost or comes again."""

from __future__ import annotations

import json
import re

import pytest

from support.dbt_project import VIEW, DbtProject, Statements, Warnings, messages_of, model, nodes_of, statement_of
from support.lives import operate
from support.targets import WITH_LOG

# No test of this file asks for decisions.
OF_ID = {"key": "id", "count_decisions": False}
SIGNED = OF_ID | {"engine": "collapsing", "input": "signed", "sign": "sign", "order_by": "position"}
EVENTS = OF_ID | {"version": "position", "block": "block"}
# States that are asked for: none is built before a test names it.
THEN = {f"late_then_{batch}": f"final(ref('late_sums'), as_of={batch})" for batch in (1, 2, 3)}
THEN["gone_then"] = "final(ref('gone_sums'), as_of=2)"
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
    "models/kept.sql": model("ledger(ref('stage_of_states'))", OF_ID | {"engine": "replacing", "order_by": "position"}),
    "models/signed.sql": model("ledger(ref('stage'))", SIGNED),
    "models/orders.sql": model("ledger(ref('stage_of_states'))", EVENTS),
    "models/stage_of_bad.sql": VIEW + "select if(sign = -1, null, id) as id, position, v, block from {{ ref('stage') }}",
    "models/rejecting.sql": model("ledger(ref('stage_of_bad'))", EVENTS | {"on_bad_rows": "reject"}),
    "models/sums.sql": model("projection(ref('orders'))", {"group_by": [], "measures": COUNT}),
    "models/late.sql": model("ledger(ref('stage_of_states'))", EVENTS),
    "models/late_sums.sql": model("projection(ref('late'))", {"group_by": [], "measures": COUNT}),
    "models/gone.sql": model("ledger(ref('stage_of_states'))", OF_ID | {"version": "position"}),
    "models/gone_sums.sql": model("projection(ref('gone'))", {"group_by": [], "measures": COUNT}),
    "models/gone_new.sql": model("projection(ref('gone'))", {"group_by": ["v"], "measures": COUNT}),
    **{f"models/{name}.sql": f"{VIEW}select * from {{{{ collapsing.{call} }}}}" for name, call in THEN.items()},
    "models/late_before.sql": VIEW + "select * from {{ collapsing.final(ref('late'), as_of=0) }}",
    **{
        f"models/{of}_live.sql": VIEW + f"select * from {{{{ collapsing.final(ref('{of}')) }}}}"
        for of in ("kept", "signed", "orders", "sums")
    },
}


@pytest.fixture(scope="module")
def project(make_project) -> DbtProject:
    """A project of ledgers with and without blocks, and a projection; all has been built of the first three rows."""
    project = make_project("refreshed", FILES)
    project.run("run", "--exclude", "gone_new", *THEN)
    return project


def _live(project: DbtProject, name: str) -> list[tuple]:
    return project.rows(f"select id, v from refreshed.{name}_live order by 1")


def test_rows_of_a_batch_that_was_taken_back_are_new_without_blocks_too(project) -> None:
    project.run("run", "--select", "stage", "signed", variables={"upto": 4})
    assert operate(project, "undo", model="signed", unread=True).success
    for upto, live in ((3, [(1, "b")]), (4, [(1, "b"), (2, "c")])):
        project.run("run", "--select", "stage", "signed", variables={"upto": upto})
        assert _live(project, "signed") == live


@pytest.mark.full
def test_what_was_taken_back_is_not_kept_out_as_known_where_the_manifest_is_gone(project) -> None:
    """Without blocks the manifest says of nothing but undos what a run must know, and the rows show that there was one."""
    project.write("models/known.sql", model("ledger(ref('stage_of_states'))", OF_ID | {"version": "position"}))
    names = ("stage", "stage_of_states", "known")
    for upto in (3, 4):
        project.run("run", "--select", *names, variables={"upto": upto})
    project.sql("alter table refreshed.known__manifest rename to refreshed.put_away")
    project.run("run", "--select", *names, variables={"upto": 4})
    project.sql("alter table refreshed.put_away rename to refreshed.known__manifest")
    assert operate(project, "undo", model="known", unread=True).success
    project.sql("alter table refreshed.known__manifest rename to refreshed.put_away")
    said = " ".join(project.fails("run", "--select", *names, variables={"upto": 4}).split())
    assert "refreshed.known__manifest, which lists the batches that an undo took back, is missing" in said
    project.sql("alter table refreshed.put_away rename to refreshed.known__manifest")
    project.run("run", "--select", *names, variables={"upto": 4})
    assert project.rows("select id, sum(ledger_sign) from refreshed.known group by id order by id") == [(1, 1), (2, 1)]
    (project.directory / "models/known.sql").unlink()


def test_a_base_that_is_written_twice_is_not_replaced_by_nothing(project) -> None:
    """As where a connection sends a statement again whose answer was lost."""
    project.run("run", "--select", "stage", "stage_of_states", "orders", "sums", variables={"upto": 4})
    sent: list[str] = []
    for name in ("orders", "sums"):
        sent.clear()
        hears = [lambda event: sent.append(event.data.sql) if statement_of(event) else None]
        assert operate(project, "optimize", model=name, callbacks=hears).success
        [statement] = [one for one in sent if re.search(rf"^ *insert \w+ (table )?refreshed\.{name} ", one, re.MULTILINE)]
        before = project.rows(f"select * from refreshed.{name}")
        with pytest.raises(Exception, match=f"{name} has been optimized or rebuilt meanwhile: nothing was changed"):
            project.sql(statement).collect()
        assert project.rows(f"select * from refreshed.{name}") == before
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
    names = ("stage", "stage_of_states", "orders", "sums", "sums_live")
    project.run("run", "--select", *names, variables={"upto": 6})
    for _ in range(2):
        assert operate(project, "optimize", model="sums").success
    project.write("models/sums.sql", model("projection(ref('orders'))", {"group_by": [], "measures": COUNT | {"of": "sum(id)"}}))
    said = " ".join(project.fails("run", "--select", "sums_live").split())
    assert "its table refreshed.sums was built with a different group_by or different measures from those that the model" in said
    warned = Warnings()
    assert project.invoke("run", "--select", *names[:-1], variables={"upto": 6}, callbacks=[warned]).success
    assert "its columns or settings have changed: run the views that read it again: sums_live" in " ".join(str(warned).split())
    project.run("run", "--select", "sums_live")
    assert project.rows("select n, of from refreshed.sums_live") == [(2, 3)]
    assert operate(project, "optimize", model="sums").success
    assert project.rows("select n, of from refreshed.sums_live") == [(2, 3)]


def test_a_base_that_a_projection_has_not_read_is_not_marked_as_read(project) -> None:
    read = project.batches("refreshed.sums")
    project.run("run", "--full-refresh", "--select", "orders", variables={"upto": 6})
    assert operate(project, "optimize", model="orders").success
    assert project.batches("refreshed.sums") == read
    project.run("run", "--select", "sums", variables={"upto": 6})
    assert project.batches("refreshed.sums")[0] == project.batches("refreshed.orders")[0] not in read


def test_a_projection_has_no_state_between_batches_that_it_has_read_in_one_run(project) -> None:
    """Nor has a ledger the state before its first batch, once that is in a base."""
    assert project.rows("select * from refreshed.late_before") == []
    assert operate(project, "optimize", model="late").success
    with pytest.raises(Exception, match="late has no state as_of=0 any more"):
        project.rows("select * from refreshed.late_before")
    names = ("stage", "stage_of_states", "late")
    assert "late was optimized or rebuilt later" in project.fails("run", "--select", *names, "late_before", variables={"upto": 4})
    said = project.fails("run", "--select", *names, "late_then_2", variables={"upto": 6})
    assert "late_sums has read no batch after 1 yet" in said
    assert project.batches_that_count("refreshed.late") == [1, 2, 3]
    no_state = "has no state as_of=2: late_sums has read the batches after 1 up to 3 in one run"
    ran = project.invoke("run", "--select", "late_sums", "late_then_1", "late_then_2", "late_then_3")
    assert [node.node.name for node in nodes_of(ran) if str(node.status) == "error"] == ["late_then_2"], messages_of(ran)
    assert no_state in messages_of(ran)
    assert project.batches("refreshed.late_sums") == [1, 3]
    for batch, count in ((1, 1), (3, 2)):
        assert project.rows(f"select n from refreshed.late_then_{batch}") == [(count,)]
    assert operate(project, "optimize", model="late_sums", keep_batches=1).success
    assert project.batches("refreshed.late_sums")[0] == -1
    assert no_state in project.fails("run", "--select", "late_then_2")


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
    assert "gone_sums has read no batch after 1 yet" in project.fails("run", "--select", "gone_then")
    assert readers() == {"gone_sums": 1, "gone_new": 0}
    project.run("run", "--select", "gone_sums", "gone_new", "gone_then")
    assert readers() == {"gone_sums": 0, "gone_new": 0}
    assert project.rows("select * from refreshed.gone_then") == []


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
    whole = {name: column for name, column in EVENTS.items() if name != "block"}
    project.write("models/orders.sql", model("ledger(ref('stage_of_states'))", whole))
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
    assert operate(project, "undo", model="rejecting").success
    assert project.batches("refreshed.rejecting") == [1, 2]
    assert project.rows("select ledger_batch from refreshed.rejecting__rejects") == [(1,)]


def test_a_full_refresh_without_blocks_tells_of_the_keys_that_it_leaves_out_and_keeps_every_row(project, full: bool) -> None:
    """A base would have only what is left of them, and the next run would take the others for new."""
    names = ("stage", "stage_of_states", "kept", "signed")
    project.run("run", "--full-refresh", "--select", *names, variables={"upto": 6})
    warned = Warnings()
    refresh = ("run", "--full-refresh", "--select", *names)
    assert project.invoke(*refresh, callbacks=[warned], variables={"upto": 3}).success
    told = [line for line in str(warned).splitlines() if "the full refresh leaves out 1 key that the ledger shows" in line]
    assert len(told) == 2
    assert all(line.endswith('has no row any more, for example: {"id":2}') for line in told)
    for _ in range(2 if full else 1):
        assert [_live(project, name) for name in names[2:]] == [[(1, "b")]] * 2
        project.run("run", "--select", *names, variables={"upto": 3})
    assert [len(project.batches(f"refreshed.{name}")) for name in names[2:]] == [1, 1]


def test_a_view_in_the_place_of_a_ledger_is_not_taken_for_an_empty_one(project) -> None:
    project.sql("drop table refreshed.late")
    project.sql("create view refreshed.late as select * from refreshed.orders")
    said = " ".join(project.fails("run", "--select", "late_sums").split())
    assert "model 'late_sums': it reads the batches of a table, and" in said and "is a view: build that model again" in said


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


def _check_hidden_feeds(project: DbtProject, changes: str) -> None:
    """Check that changes which feed a ledger are seen within another macro, and are not those of a projection."""
    project.write("macros/hidden.sql", "{% macro hidden(ledger) %}{{ collapsing.changes(ledger, after=0) }}{% endmacro %}")
    hidden = changes.replace("collapsing.changes(ref('named'), after=0)", "hidden(ref('named'))")
    project.write("models/stage_of_changes.sql", VIEW + hidden)
    said = " ".join(project.fails("run", "--select", "stage_of_changes").split())
    assert "it feeds the ledger 'fed' and calls collapsing.changes within another macro" in said
    project.write("models/sums.sql", model("projection(ref('orders'))", {"group_by": ["id"], "measures": COUNT}))
    project.write("models/stage_of_changes.sql", VIEW + changes.replace("named", "sums"))
    said = " ".join(project.fails("run", "--select", "sums", "stage_of_changes").split())
    assert "it feeds the ledger 'fed' with changes of the projection 'sums', whose runs merge older batches" in said


def test_a_joined_ledger_that_feeds_another_by_its_changes_is_not_built_anew(make_project, full: bool) -> None:
    """Its base would reach the other one as a new block, and count twice."""
    changes = "select id, ledger_sign as sign, ledger_batch as position, cast(ledger_batch as string) as block from "
    changes += "{{ collapsing.changes(ref('named'), after=0) }} where ledger_sign <> 0"
    files = {
        "models/stage.sql": VIEW + "select 1 as id, 1 as position, 'a' as v, 'b' as block",
        "models/orders.sql": model("ledger(ref('stage'))", EVENTS),
        "models/names.sql": model("ledger(ref('stage'))", EVENTS | {"key": "v"}),
        "models/named.sql": model(
            "joined(ref('orders'), names=ref('names'))", {"join": {"names": {"on": "v", "columns": {"name": "v"}}}}
        ),
        "models/stage_of_changes.sql": VIEW + changes,
        "models/fed.sql": model("ledger(ref('stage_of_changes'))", SIGNED | {"block": "block"}),
    }
    project = make_project("feeding", files)
    project.run("run")
    said = project.fails("run", "--full-refresh", "--select", "named")
    assert "it cannot be built anew: the ledger 'fed' is fed by its changes" in said
    if full:
        _check_hidden_feeds(project, changes)
    assert project.batches("feeding.named") == [1]
    # a table that is gone would be built anew too, as would that of a plain ledger, and one shard of the other ledger is enough
    project.write("models/stage_of_changes.sql", VIEW + changes)
    project.sql("drop table feeding.named")
    assert "it cannot be built anew: the ledger 'fed'" in project.fails("run", "--select", "named")
    project.write("models/stage_of_changes.sql", VIEW + changes.replace("named", "orders"))
    fed = model("ledger(ref('stage_of_changes'))", SIGNED | {"block": "block", "shards": 2})
    project.write("models/fed.sql", "{{ config(alias=collapsing.shard_name('fed')) }}\n" + fed)
    project.sql("alter table feeding.fed rename to feeding.fed__shard_1")
    project.sql("drop table feeding.orders")
    assert "it cannot be built anew: the ledger 'fed'" in project.fails("run", "--select", "orders")
