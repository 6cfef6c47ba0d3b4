"""What tells a user about a ledger: its history, blocks and rejects as relations, the life of a key, and models for a stage."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

import pytest

from support.dbt_project import VIEW, DbtProject, Warnings, model
from support.lives import operate

EVENTS = {"version": "version", "is_deleted": "is_deleted", "block": "block", "order_by": "position"}
SUMS = {"group_by": ["status"], "measures": {"n": "count(*)"}}
# text that ends a literal, and text that Spark would put something else for
TENANT, NAME = "it's", "a\\b ${x}"
PAIR = ", ".join(f"cast(X'{text.encode().hex()}' as string) as {name}" for name, text in (("tenant", TENANT), ("name", NAME)))
# ledger, its key, batches after which its state is compared with what final shows
ASKED = [("orders", "id = 1", (3, 4)), ("pairs", "true", (1, 2))]
FINAL = "select '{0}' as ledger, {1} as batch, amount from {{{{ collapsing.final(ref('{0}'), as_of={1}) }}}} where {2}"
# ledger, the key whose life is asked for, more arguments
LIVES = [("orders", 1, ", stage=ref('stg_orders')"), ("pairs", {"name": NAME, "tenant": TENANT}, ""), ("whole", [1], "")]
LIFE = "select '{0}' as ledger, * from {{{{ collapsing.explain_key(ref('{0}'), {1!r}{2}) }}}}"
# What --full asks too: of rows that carry their sign.
ASKED_LATER, LIVES_LATER = [("steps", "id = 1", (2,))], [("steps", "1", "")]
WRONG = {
    "history(ref('stg_orders'))": "model 'stg_orders': history needs a model with settings in config(meta=",
    "rejects('orders')": "rejects takes a relation, such as ref('orders'); given: ",
    "blocks(ref('sums'))": "model 'sums': blocks needs a ledger; this is a projection",
    "blocks(ref('whole'))": "model 'whole': setting 'block' must be the column with the block token",
    "explain_key(ref('orders'))": "needs a value for each column of the key (id): where there are several, a list in this order",
    "explain_key(ref('orders'), '1.5')": "model 'orders': explain_key: '1.5' is not a valid value of 'id', which is int",
    "explain_key(ref('pairs'), 'x')": "needs a value for each column of the key (tenant, name)",
    "explain_key(ref('pairs'), {'tenant': 'x', 'nam': 'y'})": "given: {'tenant': 'x', 'nam': 'y'}",
    "explain_key(ref('sums'), 1)": "model 'sums': explain_key needs a ledger; this is a projection",
    "explain_key(ref('orders'), 1, stage='stg_order')": "explain_key needs 'stage', the name of a model, a seed or a snapshot",
}
FILES = {
    "models/stg_orders.sql": VIEW + "select position, id, version, is_deleted, status, amount, block from tools.arrived",
    "models/stg_pairs.sql": f"{VIEW}select position, version, is_deleted, status, amount, block, {PAIR} from tools.arrived "
    "where id = 1 and version is not null",
    "models/stg_whole.sql": f"{VIEW}select id, version, amount, timestamp'2014-01-01 00:00:00.123456Z' as at from tools.arrived "
    "where id = 1 and version is not null",
    "models/orders.sql": model("ledger(ref('stg_orders'))", EVENTS | {"key": "id", "on_bad_rows": "reject"}),
    "models/pairs.sql": model("ledger(ref('stg_pairs'))", EVENTS | {"key": ["tenant", "name"], "engine": "replacing"}),
    "models/whole.sql": model("ledger(ref('stg_whole'))", {"key": "id", "version": "version"}),
    "models/sums.sql": model("projection(ref('orders'))", SUMS),
    "models/told_history.sql": VIEW + "select * from {{ collapsing.history(ref('orders')) }}",
    "models/told_blocks.sql": VIEW + "select * from {{ collapsing.blocks(ref('orders')) }}",
    "models/told_rejects.sql": VIEW + "select * from {{ collapsing.rejects(ref('orders')) }}",
    "models/no_rejects.sql": VIEW + "select * from {{ collapsing.rejects(ref('pairs')) }}",
    "models/no_rejects_of_whole.sql": VIEW + "select * from {{ collapsing.rejects(ref('whole')) }}",
} | {f"models/wrong_{n}.sql": f"{VIEW}select * from {{{{ collapsing.{call} }}}}" for n, call in enumerate(WRONG)}
OF_STEPS = {
    "models/stg_steps.sql": VIEW + "select position, id, sign, amount, block from tools.arrived where sign is not null",
    "models/steps.sql": model(
        "ledger(ref('stg_steps'))",
        {"engine": "collapsing", "input": "signed", "key": "id", "sign": "sign", "order_by": "position", "block": "block"},
    ),
}
# Stages that `generate` looks at, and rows of a source.
PARCELS = ", ".join(
    f"({n % 12 + 1}, timestamp'2026-01-01 00:00:00' + make_interval(0, 0, 0, 0, {n}), {str(n % 7 == 6).lower()}, "
    f"'{('new', 'sent', 'lost')[n % 3]}', {n}.5, 'day_{n // 10}.json')"
    for n in range(30)
)
CHANGES = ", ".join(f"({n % 9}, {n}L, '{'cuuud'[n % 5]}', {n % 4}, date'2026-01-01' + {n // 10})" for n in range(30))
STAGES = {
    "models/stg_parcels.sql": f"{VIEW}select * from values {PARCELS} "
    "as t (parcel_id, updated_at, is_deleted, status, weight, source_file)",
    "models/stg_jobs.sql": VIEW
    + "select id % 12 as job_id, timestamp_seconds(id) as updated_at, id % 3 as row_count from range(30)",
    "models/colours.sql": VIEW + "select * from values ('r', 'red'), ('g', 'green') as t (code, label)",
    "models/nameless.sql": VIEW + "select cast(null as int) as id, 1.5D as amount",
    "models/sources.yml": "sources: [{name: feed, schema: tools_feed, tables: [{name: changes}]}]",
}

BLOCKS = "select block, rows, batch, is_unread, is_undone from told_blocks order by batch, block"
HISTORY = "select batch, blocks, rows_read, states, cancels, undoes from told_history order by batch"
REJECTS = "select id, amount, block, reason, ledger_block, batch from told_rejects order by all"


WRONG_MODELS = [f"wrong_{n}" for n in range(len(WRONG))]


@pytest.fixture(scope="module")
def asked(full: bool) -> list[tuple]:
    """What is asked of states, as in ASKED."""
    return ASKED + (ASKED_LATER if full else [])


@pytest.fixture(scope="module")
def tools(make_project, asked: list[tuple], full: bool) -> DbtProject:
    """Ledgers of several kinds with four blocks folded, and views of what is told of one, built after the first block."""
    lives = [LIFE.format(*one) for one in LIVES + (LIVES_LATER if full else [])]
    finals = [FINAL.format(name, batch, key) for name, key, batches in asked for batch in batches]
    tables = {
        f"models/{name}.sql": "{{ config(materialized='table') }}\n" + "\nunion all\n".join(selects)
        for name, selects in (("lives", lives), ("finals", finals))
    }
    project = make_project("tools", FILES | STAGES | tables | (OF_STEPS if full else {}))
    project.sql("create schema if not exists tools")
    columns = "position int, id int, version int, is_deleted boolean, sign int, status string, amount int, block string"
    project.sql(f"create table tools.arrived ({columns}) using parquet")
    if full:
        project.run("compile", "--select", "told_history", "told_blocks", "told_rejects", "no_rejects")
    _arrive(project, "b1", "1, 1, false, 1, 'new', 10", "2, 5, false, null, 'new', 20", "null, 1, false, null, 'new', 30")
    project.run("run", "--exclude", "lives", "finals", *WRONG_MODELS)
    _fold(project, "b2", "1, 1, false, null, 'late', 11", "1, 2, false, null, 'paid', 12", "1, 1, false, -1, 'new', 10")
    _fold(project, "b3", "1, 3, true, null, 'paid', 12", "1, 4, false, 1, 'back', 13", "1, null, false, null, 'bad', 0")
    _arrive(project, "b4", "1, 9, true, null, 'back', 13")
    project.run("run", "--select", "orders", "pairs", *(["steps"] if full else []))
    return project


def _arrive(project: DbtProject, block: str, *rows: str) -> None:
    """Stage rows of (id, version, is_deleted, sign, status, amount) as a block, in this order."""
    staged = ", ".join(f"({position}, {row}, '{block}')" for position, row in enumerate(rows))
    project.sql(f"insert into tools.arrived values {staged}")


def _fold(project: DbtProject, block: str, *rows: str) -> None:
    """Stage a block, and fold it with the ledger that is told about."""
    _arrive(project, block, *rows)
    project.run("run", "--select", "orders")


def test_the_life_of_a_key_is_its_events_its_rows_and_its_states(tools) -> None:
    tools.run("run", "--select", "lives", "finals")
    told = tools.rows("select batch, step, what from lives where ledger = 'orders' order by place")
    assert told == [
        *((1, "staged", "applied"), (1, "appended", "state"), (1, "state", "live")),
        *((2, "staged", "tie"), (2, "staged", "applied"), (2, "staged", "duplicate")),
        *((2, "appended", "cancel"), (2, "appended", "state"), (2, "state", "live")),
        *((3, "staged", "superseded"), (3, "staged", "applied"), (3, "staged", "null_version")),
        *((3, "appended", "cancel"), (3, "appended", "state"), (3, "state", "live")),
        *((4, "staged", "applied"), (4, "appended", "cancel"), (4, "appended", "tombstone"), (4, "state", "deleted")),
    ]
    rows = tools.rows("select row from lives where ledger = 'orders' and batch = 3 order by place")
    assert rows[2] == ('{"position":2,"id":1,"version":null,"is_deleted":false,"status":"bad","amount":0,"block":"b3"}',), (
        "as it was staged, NULLs too"
    )
    assert rows[3] == ('{"position":1,"id":1,"version":2,"status":"paid","amount":12,"ledger_sign":-1,"ledger_block":"b3"}',), (
        "the cancel row is the stored one"
    )
    assert rows[5] == ('{"position":1,"id":1,"version":4,"status":"back","amount":13}',)


def test_the_state_after_each_batch_is_what_final_shows(tools, asked: list[tuple], full: bool) -> None:
    """Of events and of rows that replace each other; with --full of rows that carry their sign too."""
    live = "select ledger, batch, int(get_json_object(row, '$.amount')) from lives where what = 'live' order by all"
    states = {(ledger, batch) for ledger, _, batches in asked for batch in batches}
    finals = tools.rows("select * from finals order by all")
    assert [row for row in tools.rows(live) if row[:2] in states] == finals
    assert finals == [("orders", 3, 13), ("pairs", 1, 10), *([("steps", 2, 13)] if full else [])]
    assert tools.rows("select count(*) from lives where ledger = 'pairs' and step = 'staged'") == [(7,)], "quoted as it is"
    assert tools.rows("select count_if(row not like '%:00.123456%') from lives where ledger = 'whole'") == [(0,)]
    # without a block token no batch is known of what is staged, which is told first
    whole = tools.rows("select batch, step, what from lives where ledger = 'whole' order by place")
    assert whole[-3:] == [(None, "staged", "applied"), (1, "appended", "state"), (1, "state", "live")]


@pytest.mark.full
def test_the_life_of_a_key_is_printed(tools, capsys) -> None:
    capsys.readouterr()
    assert operate(tools, "explain_key", model="orders", key=2).success
    assert operate(tools, "explain_key", model="orders", key={"ID": "1"}, stage="stg_orders").success
    assert operate(tools, "explain_key", model="orders", key=77).success
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert said[:5] == [
        "orders, key 2",
        "batch step what row",
        '1 staged applied {"position":1,"id":2,"version":5,"is_deleted":false,"status":"new","amount":20,"block":"b1"}',
        '1 appended state {"position":1,"id":2,"version":5,"status":"new","amount":20,"ledger_sign":1,"ledger_block":"b1"}',
        '1 state live {"position":1,"id":2,"version":5,"status":"new","amount":20}',
    ]
    assert "4 state deleted" in said
    assert said[-1] == "orders, key 77: no row of it is staged, and none was appended"
    for arguments in ({}, {"model": "orders"}, {"model": "orders", "key": [[2]]}, {"model": "orders", "key": {"di": 2}}):
        assert not operate(tools, "explain_key", **arguments).success
    said = " ".join(capsys.readouterr().out.split())
    assert "explain_key needs --args" in said and "key (id)" in said


def test_what_cannot_be_told_is_an_error_that_says_why(tools) -> None:
    said = " ".join(tools.fails("run", "--select", *WRONG_MODELS).split())
    for words in WRONG.values():
        assert words in said, words


def test_relations_without_rows_where_nothing_was_rejected(tools) -> None:
    assert tools.sql("select * from no_rejects").columns[-3:] == ["reason", "ledger_block", "batch"]
    assert "tenant" in tools.sql("select * from no_rejects").columns
    columns = ["id", "version", "amount", "at", "reason", "block", "batch"]
    assert tools.sql("select * from no_rejects_of_whole").columns == columns
    assert tools.rows("select * from no_rejects union all select * from no_rejects") == []


@pytest.fixture(scope="module")
def taken_back(tools, full: bool) -> DbtProject:
    """The project after a batch that was taken back and folded again; in full, one without rows and one brought back too."""
    if full:
        _fold(tools, "b5", "1, 1, false, null, 'stale', 1")
    _fold(tools, "b6", "3, 1, false, null, 'new', 60", "null, 6, false, null, 'bad', 61")
    assert operate(tools, "undo", model="orders", unread=True).success
    tools.run("run", "--select", "orders")
    if full:
        _fold(tools, "b7", "4, 1, false, null, 'new', 70")
        assert operate(tools, "undo", model="orders").success
        assert operate(tools, "undo", model="orders", redo=True).success
    return tools


@pytest.mark.full
def test_the_life_of_a_key_tells_what_was_taken_back(taken_back, capsys) -> None:
    undos = "select ledger_batch, undoes from orders__history where undoes is not null order by 1 limit 1"
    ((undo, undone),) = taken_back.rows(undos)
    capsys.readouterr()
    assert operate(taken_back, "explain_key", model="orders", key=3).success
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert [line for line in said if line.startswith(f"{undo} appended cancel, undo of {undone} ")], said
    heard: list[str] = []
    assert operate(
        taken_back, "undo", callbacks=[lambda event: heard.append(event.info.msg)], model="orders", batch=undone
    ).success
    (line,) = [line for line in heard if "is taken back already" in line]
    # no word of redo: the batch has been folded again since
    assert line == f"collapsing: orders: batch {undone} is taken back already, by batch {undo}: nothing was changed"


@dataclass
class Told:
    """What is told of the ledger once a batch was taken back: its batches, its blocks and its rejects."""

    batches: list[tuple]
    blocks: list[tuple]
    aside: list[tuple]

    @property
    def last(self) -> int:
        """The number of the last batch."""
        return self.batches[-1][0]

    def check(self, project: DbtProject) -> None:
        """Compare with what the views show."""
        assert project.rows(HISTORY) == self.batches
        assert project.rows(BLOCKS) == self.blocks
        assert project.rows(REJECTS) == self.aside


@pytest.fixture(scope="module")
def told(full: bool) -> Told:
    """What the views must tell of taken_back: the batch of b6 is 6 where b5 was folded before it, else 5."""
    first = 6 if full else 5
    batches = [(1, 1, 3, 2, 0, None), (2, 1, 3, 1, 1, None), (3, 1, 3, 1, 1, None), (4, 1, 1, 0, 1, None)]
    blocks = [("b1", 3, 1, False, False), ("b2", 3, 2, False, False), ("b3", 3, 3, False, False), ("b4", 1, 4, False, False)]
    if full:
        batches.append((5, 1, 1, 0, 0, None))
        blocks.append(("b5", 1, 5, False, False))
    batches += [(first, 1, 2, 1, 0, None), (first + 1, None, 0, 0, 1, first), (first + 2, 1, 2, 1, 0, None)]
    blocks += [("b6", 2, first, True, True), ("b6", 2, first + 2, False, False)]
    if full:
        batches += [(9, 1, 1, 1, 0, None), (10, None, 0, 0, 1, 9), (11, None, 0, 1, 0, 10)]
        blocks.append(("b7", 1, 9, False, False))
    aside = [(None, 61, "b6", "null_key", "b6", number) for number in (first, first + 2)]
    return Told(batches, blocks, [(None, 30, "b1", "null_key", "b1", 1), *aside, (1, 0, "b3", "null_version", "b3", 3)])


def test_views_of_a_ledger_follow_it_batch_by_batch(taken_back, told) -> None:
    told.check(taken_back)
    types = dict(taken_back.sql("select * from told_history").dtypes)
    assert types["batch"] == "int" and types["decisions"] == "map<string,bigint>" and types["finished_at"] == "timestamp"
    decided = "select decisions['tie'], seconds > 0, run_id is not null from told_history where batch = 2"
    assert taken_back.rows(decided) == [(1, True, True)]
    assert taken_back.rows("select count(*) from told_blocks where planned_at is null") == [(0,)]


@pytest.mark.only("parquet")  # writes partitions of its own
def test_what_a_killed_run_had_planned_is_not_told(taken_back, told) -> None:
    """A batch that was planned and never appended, and a merged manifest whose base was never written."""
    killed = told.last + 1
    block = f"('b8', 1L, {killed}, null, null, null, null, null, null, null, null, null, 'run', now())"
    batch = f"(null, 1L, {killed}, 1L, null, 1L, 0L, 0L, null, null, 1D, null, 'run', now())"
    bad = "(0, null, 1, false, 'bad', 99, 'b8', 'null_key', 'b8')"
    for table, values in (("manifest", f"{block}, {batch}"), ("rejects", bad)):
        taken_back.sql(f"insert overwrite tools.orders__{table} partition (ledger_batch = {killed}) values {values}")
    columns = taken_back.columns("tools.orders__manifest", without=["ledger_batch"])
    merged = f"select {columns} from tools.orders__manifest where ledger_batch <= {told.last}"
    taken_back.sql(f"create table tools.merged using parquet as {merged}")
    taken_back.sql(f"insert overwrite tools.orders__manifest partition (ledger_batch = {-told.last}) select * from tools.merged")
    told.check(taken_back)
    for table in ("rejects", "manifest"):
        taken_back.drop_batch(f"tools.orders__{table}", killed)


def test_views_of_a_ledger_stay_true_after_optimize(taken_back, told) -> None:
    taken_back.run("run", "--select", "sums")
    assert operate(taken_back, "optimize", model="orders").success
    assert taken_back.batches("orders") == [-told.last]
    told.check(taken_back)


def test_views_of_a_ledger_tell_what_a_full_refresh_has_folded(taken_back, told, full: bool) -> None:
    warned = Warnings()
    assert taken_back.invoke("run", "--select", "orders", "--full-refresh", callbacks=[warned]).success
    if full:
        assert "must not come back" not in str(warned), "what was taken back was brought back"
    number = max(-batch for batch in taken_back.batches("orders"))
    blocks = taken_back.rows("select block, batch, is_undone from told_blocks order by block")
    folded = sorted({block for block, *_ in told.blocks})
    assert blocks == [(block, number, False) for block in folded]
    assert taken_back.rows("select batch, count(*) from told_rejects group by batch") == [(number, 3)]
    assert taken_back.rows(HISTORY)[:-1] == told.batches, "what was done stays told"
    assert taken_back.rows("select max(batch), max_by(blocks, batch) from told_history") == [(number, len(folded))]


@pytest.fixture(scope="module")
def generated(tools) -> DbtProject:
    """The project with the table of the source, which is looked at as models are."""
    tools.sql("create schema if not exists tools_feed")
    columns = "(id, lsn, op, `net amount`, ingested_on)"
    tools.sql(f"create table tools_feed.changes using parquet as select * from values {CHANGES} as t {columns}")
    return tools


def _generate(project: DbtProject, capsys, stage: str) -> dict[str, str]:
    """Return the files that generate prints, {path: text}."""
    capsys.readouterr()
    assert operate(project, "generate", stage=stage).success
    _, *parts = re.split(r"^(?:--|#) (models/\S+)$", capsys.readouterr().out, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.full
def test_what_generate_prints_runs_as_it_is(generated, capsys) -> None:
    stages = ("stg_parcels", "feed.changes", "colours")
    files = {stage: _generate(generated, capsys, stage) for stage in stages}
    assert [path.removeprefix("models/") for path in files["feed.changes"]] == [
        *("changes_events.sql", "changes_ledger.sql", "changes_final.sql"),
        *("changes_by_net_amount_projection.sql", "changes_by_net_amount.sql", "changes_final.yml"),
    ]
    printed = {path: text for stage in files for path, text in files[stage].items()}
    for path, text in printed.items():
        generated.write(path, text)
    models = {PurePath(path).stem for path in printed}
    built = generated.run("build", "--select", *models)
    assert {PurePath(path).stem for path in printed if path.endswith(".sql")} <= set(built)
    assert len(built) == 28
    assert (
        built["collapsing_collapsed_parcels_ledger_"]
        == built["collapsing_equals_recompute_parcels_by_status_projection_"]
        == "pass"
    )


def test_generate_finds_key_version_deletes_and_blocks(generated, capsys) -> None:
    settings = "config(meta={'collapsing': {\n"
    parcels = _generate(generated, capsys, "stg_parcels")["models/parcels_ledger.sql"]
    chosen = ["'key': 'parcel_id'", "'version': 'updated_at'", "'is_deleted': 'is_deleted'", "'block': 'source_file'"]
    assert settings + ",\n".join(f"    {one}" for one in chosen) + "\n}}) }}" in parcels
    jobs = _generate(generated, capsys, "stg_jobs")
    assert "'key': 'job_id'" in jobs["models/jobs_ledger.sql"] and "'block'" not in jobs["models/jobs_ledger.sql"]
    assert "'row_count_of_jobs': 'count(*)'" in jobs["models/jobs_by_row_count_projection.sql"]


def test_generate_says_what_is_wrong_with_its_argument(generated, capsys, full: bool) -> None:
    allowed = "generate needs 'stage', the name of a model, a seed or a snapshot, or a source as source_name.table_name; given: "
    wrongs = {"stg_parcel": allowed + "stg_parcel", "nameless": "generate finds no key in the stage 'nameless'"}
    if full:
        wrongs |= {"": allowed + "nothing", "orders": "model 'orders': the stage's column 'ledger_sign' begins"}
    for stage, words in wrongs.items():
        capsys.readouterr()
        assert not operate(generated, "generate", **({"stage": stage} if stage else {})).success
        assert words in " ".join(capsys.readouterr().out.split())
