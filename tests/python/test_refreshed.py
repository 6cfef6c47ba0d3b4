"""What a table is after it was folded anew, created again or undone: no row of an earlier life is lost or comes again."""

from __future__ import annotations

import contextlib
import json

import pytest

from support.dbt_project import VIEW, DbtProject, Statements, Warnings, model
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
STAGES = ("stage", "stage_of_states")


@pytest.fixture(scope="module")
def project(make_project) -> DbtProject:
    """A project of ledgers with and without blocks, and projections; all has been built of the first three rows."""
    project = make_project("refreshed", FILES)
    project.run("run", "--exclude", "gone_new")
    return project


def _live(project: DbtProject, name: str) -> list[tuple]:
    return project.rows(f"select id, v from refreshed.{name}_live order by 1")


@pytest.mark.full
def test_rows_of_an_undone_batch_are_new_without_blocks_too(project) -> None:
    project.run("run", "--select", *STAGES, "known", variables={"upto": 4})
    assert operate(project, "undo", model="known", batch=2).success
    for upto, live in ((3, [(1, "b")]), (4, [(1, "b"), (2, "c")])):
        project.run("run", "--select", *STAGES, "known", variables={"upto": upto})
        assert _live(project, "known") == live


@pytest.mark.only("parquet", "delta", "iceberg")  # a server's session is another one than that of the tests
def test_a_commit_that_is_sent_twice_counts_once(project) -> None:
    """As where a connection sends a statement again whose answer was lost."""
    heard = [Statements("model.refreshed.orders"), Statements("model.refreshed.sums")]
    again = "run", "--select", *STAGES, "orders", "sums"
    assert project.invoke(*again, variables={"upto": 4}, callbacks=heard).success
    before = [project.batches(table) for table in ("refreshed.orders", "refreshed.sums")]
    commits = [one for model in heard for one in model.heard if one.startswith(("insert into", "alter table", "call"))]
    assert len(commits) >= 2
    for statement in commits:
        with contextlib.suppress(Exception):
            project.sql(statement).collect()
    assert [project.batches(table) for table in ("refreshed.orders", "refreshed.sums")] == before
    assert _live(project, "orders") == [(1, "b"), (2, "c")]
    assert project.rows("select n from refreshed.sums_live") == [(2,)]


@pytest.mark.full
def test_a_table_that_is_created_again_has_nothing_of_what_an_optimize_of_the_old_one_has_left(project) -> None:
    names = (*STAGES, "orders")
    project.run("run", "--select", *names, variables={"upto": 6})
    assert operate(project, "optimize", model="orders").success
    for settings in (EVENTS | {"engine": "replacing"}, EVENTS):
        project.write("models/orders.sql", model("ledger(ref('stage_of_states'))", settings))
        project.run("run", "--full-refresh", "--select", *names, "orders_live", variables={"upto": 6})
        assert operate(project, "optimize", model="orders").success
        assert _live(project, "orders") == [(1, "d"), (2, "c")]


@pytest.mark.full
def test_a_projection_of_other_measures_is_rebuilt_and_its_views_are_named(project) -> None:
    names = (*STAGES, "orders", "sums")
    project.write("models/sums.sql", model("projection(ref('orders'))", {"group_by": [], "measures": COUNT | {"of": "sum(id)"}}))
    assert "UNRESOLVED_COLUMN" in project.fails("run", "--select", "sums_live")
    warned = Warnings()
    assert project.invoke("run", "--select", *names, variables={"upto": 6}, callbacks=[warned]).success
    assert "its columns or settings have changed: run the views that read it again: sums_live" in " ".join(str(warned).split())
    project.run("run", "--select", "sums_live")
    assert project.rows("select n, of from refreshed.sums_live") == [(2, 3)]


def test_a_projection_follows_a_ledger_that_was_folded_anew(project) -> None:
    last = max(map(abs, project.batches("refreshed.orders")))
    project.run("run", "--full-refresh", "--select", *STAGES, "orders", variables={"upto": 6})
    read = project.visible("refreshed.sums")
    assert operate(project, "optimize", model="orders").success, "of the compacted batch that is there nothing is due"
    assert project.visible("refreshed.sums") == read
    project.run("run", "--select", "sums")
    assert project.visible("refreshed.sums") == project.visible("refreshed.orders") == [-last - 1]
    assert _live(project, "orders") == [(1, "d"), (2, "c")]
    assert project.rows("select n from refreshed.sums_live") == [(2,)]


def test_a_ledger_has_no_state_before_its_first_batch_once_that_is_compacted(project) -> None:
    assert project.rows("select * from refreshed.late_before") == []
    assert operate(project, "optimize", model="late").success
    with pytest.raises(Exception, match="late has no state as_of=0 any more"):
        project.rows("select * from refreshed.late_before")
    names = (*STAGES, "late")
    assert "final has no state as_of=0" in project.fails("run", "--select", *names, "late_before", variables={"upto": 4})
    project.run("run", "--select", "late_sums")
    assert project.visible("refreshed.late") == project.visible("refreshed.late_sums") == [-1, 2]


def test_what_has_read_a_ledger_that_is_empty_since_it_was_folded_anew_is_behind(project, capsys) -> None:
    """Until its run, and so is what is not built yet."""

    def late_readers() -> set[str]:
        capsys.readouterr()
        assert operate(project, "status", model="gone", format="json").success
        [figures] = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
        return {reader["name"] for reader in figures["readers"] if reader["lag_batches"]}

    project.run("run", "--full-refresh", "--select", *STAGES, "gone", variables={"upto": 0})
    assert project.visible("refreshed.gone") == [-2] and project.visible("refreshed.gone_sums") == [-1]
    assert "gone_sums" in late_readers()
    project.run("run", "--select", "gone_sums", "gone_new")
    assert late_readers() == set()
    assert project.visible("refreshed.gone_sums") == project.visible("refreshed.gone_new") == [-2]


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


@pytest.mark.only(*WITH_LOG)
def test_a_full_refresh_gives_a_ledger_the_format_that_the_model_has_now(make_project, target: str) -> None:
    """And an ordinary run its projection, which cannot have another format than its ledger."""
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
    project.write("models/orders.sql", files["models/orders.sql"])
    assert "file_format" in project.fails("run", "--select", "sums")
    project.write("models/sums.sql", files["models/sums.sql"])
    assert "model 'orders'" in project.fails("run", "--select", "orders")
    project.run("run", "--full-refresh", "--select", "orders")
    for _ in range(2):
        project.run("run", "--select", "orders", "sums", "live")
        assert project.rows("select * from formats.live") == [("a", 1)]
    for name in ("orders", "sums"):
        assert ("Provider", target) in [row[:2] for row in project.rows(f"describe table extended formats.{name}")]
