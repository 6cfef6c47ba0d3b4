"""Corners in which a row could be lost, read twice or shown wrongly without a word: tokens, keys, zones, refreshes, retention."""

from __future__ import annotations

import re

import pytest

from support.dbt_project import VIEW, DbtProject, Statements, messages_of, model, nodes_of
from support.lives import operate
from support.sessions import sessions_with

EVENTS = {"key": "id", "version": "version", "is_deleted": "is_deleted", "block": "block"}
SIGNED = {"engine": "collapsing", "input": "signed", "key": "id", "sign": "sign", "order_by": "position", "block": "block"}
BY_ARRIVAL = {"engine": "collapsing", "key": "id", "order_by": "position", "block": "block"}
# text that Spark, a driver or a parser could take for something else: as bytes, for a source file has no such text
TEXTS = [b"", b"\xff", b"\xfe\xff", b"x${env:HOME}", b"${x}", b"it's \\", b"\n", "é".encode(), b"$61", b"a;b,c"]
ONE_HOUR_TWICE = "(timestamp'2013-11-03 05:30:00Z'), (timestamp'2013-11-03 06:30:00Z')"
# the least and greatest values of types, and some between
ENDS = """
    (-128Y, -9223372036854775807L - 1, timestamp'0001-01-01'), (-1Y, -1L, timestamp'1969-12-31 23:59:59.999999'),
    (0Y, 0L, timestamp'1970-01-01'), (5Y, 12L, timestamp'2014-01-01'), (127Y, 9223372036854775807L, timestamp'9999-12-31')
"""

# text whose bytes are no UTF-8, which a literal would not give again
NO_TEXT = "cast(unhex('41FF42') as string)"
# ids and blocks: the second block has new keys, and some that are old and far from each other
OLD = {-1_000_000, -999_999, -5_000, 0, 7, 8, 700_000, 999_999, 1_000_000}
LATE = {-1_000_000, 7, 999_999, 1_000_000}
NEW = {-70_000, 2_000_000, 2_000_001}
SPREAD = ", ".join(str(row) for row in [(id_, 1) for id_ in sorted(OLD)] + [(id_, 2) for id_ in sorted(LATE | NEW)])

# a token at the beginning of the calendar, as programs write a time that they do not know
LOADED_AT = "timestampadd(day, block - 1, timestamp'0001-01-01') as loaded_at"

# states that are asked for and are not there, of `timed` and its projection, and what is said of them
MISSING = {
    "final(ref('timed'), as_of=3)": "final has no state as_of=3 yet: the last batch is 2",
    "final(ref('sums_of_timed'), as_of=1)": "and what is read a ledger; given: 1 of a projection",
}

FILES = {
    "models/stg_odd.sql": f"{VIEW}select * from corners.named where version <= {{{{ var('upto', 9) }}}}",
    "models/odd.sql": model("ledger(ref('stg_odd'))", EVENTS | {"key": "name"}),
    "models/live_odd.sql": VIEW + "select * from {{ collapsing.final(ref('odd')) }}",
    "models/stg_moments.sql": f"{VIEW}select 1 as id, unix_micros(block) as version, false as is_deleted, block "
    f"from values {ONE_HOUR_TWICE} as t (block)",
    "models/moments.sql": model("ledger(ref('stg_moments'))", EVENTS),
    "models/stg_raw.sql": f"{VIEW}select 1 as id, version, false as is_deleted, block "
    "from values (1, X'FF'), (2, X'FE'), (3, X'00') as t (version, block) where version <= {{ var('upto', 9) }}",
    "models/raw.sql": model("ledger(ref('stg_raw'))", EVENTS),
    "models/stg_lives.sql": VIEW + "select * from corners.events",
    "models/forgetful.sql": model("ledger(ref('stg_lives'))", EVENTS | {"tombstone_retention": "10 + 10"}),
    "models/keeping.sql": model("ledger(ref('stg_lives'))", EVENTS | {"tombstone_retention": "nullif(1, 1)"}),
    "models/refreshed.sql": "{{ config(full_refresh=true) }}\n" + model("ledger(ref('stg_lives'))", EVENTS),
    "models/lasting.sql": model("ledger(ref('stg_lives'))", EVENTS),
    **{
        f"models/{name}.sql": VIEW + "select * from {{ collapsing.changes(ref('lasting'), after=1) }}"
        for name in ("since", "since_without_rows")
    },
    "models/stg_signs.sql": VIEW + "select 1 as id, '1d' as sign, 1 as position, 'b' as block",
    "models/signs.sql": model("ledger(ref('stg_signs'))", SIGNED),
    "models/stg_names.sql": f"{VIEW}select * from corners.names",
    "models/Odd_Names.sql": model(
        "ledger(ref('stg_names'))",
        {"key": ["id", "events"], "version": "version", "block": "version"},
    ),
    "models/counted_odd.sql": model(
        "projection(ref('Odd_Names'))", {"group_by": ["Location"], "measures": {"s": "sum(stored)", "n": "count(wide)"}}
    ),
    "models/live_names.sql": VIEW + "select * from {{ collapsing.final(ref('Odd_Names')) }}",
    "models/counted_odd_live.sql": VIEW + "select * from {{ collapsing.final(ref('counted_odd')) }}",
    "models/stg_tokens.sql": f"{VIEW}select 1 as id, 1 as version, false as is_deleted, {{{{ var('token') }}}} as block",
    "models/tokens_of_types.sql": model("ledger(ref('stg_tokens'))", EVENTS),
    "models/timed.sql": model("ledger(ref('stg_lives'))", EVENTS),
    "models/sums_of_timed.sql": model("projection(ref('timed'))", {"group_by": ["version"], "measures": {"n": "count(*)"}}),
    "models/then.sql": f"{VIEW}select max(version) as version from {{{{ collapsing.final(ref('timed'), as_of=1) }}}} "
    "where id = 7",
    "models/stg_ends.sql": f"{VIEW}select small, big, at, block as version, false as is_deleted, {LOADED_AT} from values {ENDS} "
    "as ends (small, big, at) cross join values (1), (2), (3), (4) as blocks (block) "
    "where block <= {{ var('upto', 9) }} and (block = 1 or small = element_at(array(null, 127Y, -128Y, -1Y), block))",
    "models/ends.sql": model(
        "ledger(ref('stg_ends'))", {"key": ["small", "big", "at"], "version": "version", "block": "loaded_at"}
    ),
    "models/live_ends.sql": VIEW + "select * from {{ collapsing.final(ref('ends')) }}",
    "models/stg_spread.sql": f"{VIEW}select id, date_add(date'2000-01-01', cast(id div 1000 as int)) as day, "
    f"timestamp_seconds(id) as at, {NO_TEXT} as name, block as version, false as is_deleted, block "
    f"from values {SPREAD} as t (id, block) where block <= {{{{ var('upto', 9) }}}}",
    "models/spread.sql": model("ledger(ref('stg_spread'))", EVENTS | {"key": ["id", "day", "at", "name"]}),
    "models/stg_equals.sql": f"{VIEW}select 1 as id, 1 as position, 5 as v, block from values (1), (2) as t (block)"
    " where block <= {{ var('upto', 9) }}",
    "models/equals.sql": model("ledger(ref('stg_equals'))", BY_ARRIVAL | {"combine": {"v": "old.v + new.v"}}),
    "models/live_equals.sql": VIEW + "select v from {{ collapsing.final(ref('equals')) }}",
    "models/decided_equals.sql": "select decision from {{ collapsing.decisions(ref('equals'), ref('stg_equals')) }}",
    "models/stg_tags.sql": f"{VIEW}select 1 as id, 1 as position, map('v', block) as tags, block from values (1), (2)"
    " as t (block) where block <= {{ var('upto', 9) }}",
    "models/tagged.sql": model("ledger(ref('stg_tags'))", BY_ARRIVAL | {"engine": "replacing"}),
    "models/live_tagged.sql": VIEW + "select tags['v'] from {{ collapsing.final(ref('tagged')) }}",
    "models/first_tagged.sql": VIEW + "select tags['v'] from {{ collapsing.final(ref('tagged'), as_of=1) }}",
    **{f"models/missing_{n}.sql": f"{VIEW}select * from {{{{ collapsing.{call} }}}}" for n, call in enumerate(MISSING)},
}


@pytest.fixture(scope="module")
def part(target: str) -> str:
    """How names of a struct's fields begin. Hive's catalog, which knows the types of Iceberg's tables, has no field named a-b."""
    return "f_" if target == "iceberg" else "f-"


@pytest.fixture(scope="module")
def corners(make_project, part: str) -> DbtProject:
    """A project of all that this file folds; nothing has arrived."""
    project = make_project("corners", FILES)
    project.sql("create schema if not exists corners")
    rows = "version int, is_deleted boolean, `#note` string, block string"
    project.sql(f"create table corners.named (name string, {rows}) using parquet")
    wide = ", ".join(f"`{part}{number}`: int" for number in range(30))
    project.sql(
        f"create table corners.names (id int, version int, stored int, events int, Location string, map map<string, int>, "
        f"wide struct<{wide}>, c char(3), at timestamp) using parquet"
    )
    wide = ", ".join(f"'{part}{number}', {number}" for number in range(30))
    project.sql(
        f"insert into corners.names select 1, version, version + 2, 0, 'there', map('a', 1), named_struct({wide}), 'x', "
        "timestamp_micros(0) from values (1), (2) as versions (version)"
    )
    project.sql("create table corners.events (id int, version int, is_deleted boolean, block string) using parquet")
    return project


def _live(project: DbtProject, block: str, rows: str, *models: str) -> None:
    """Land rows of (id, version, is_deleted) as a block, and run models over them."""
    project.sql(f"insert into corners.events select *, '{block}' from values {rows}")
    project.run("run", "--select", "stg_lives", *models)


@pytest.mark.full
def test_bytes_that_are_no_text_and_variables_of_spark_are_keys_and_tokens_as_they_are(corners) -> None:
    """Each key has a token of its own text, and its second version finds the first."""
    for version in (1, 2):
        tokens = [text + str(version).encode() if text else b" " * version for text in TEXTS]
        rows = [
            f"(cast(X'{text.hex()}' as string), {version}, false, 'n', cast(X'{token.hex()}' as string))"
            for text, token in zip(TEXTS, tokens, strict=True)
        ]
        corners.sql(f"insert into corners.named values {', '.join(rows)}")
        corners.run("run", "--select", "stg_odd+", variables={"upto": version})
    corners.run("run", "--select", "odd")
    found = corners.rows("select cast(name as binary), version, `#note` from live_odd")
    assert sorted((bytes(name), *rest) for name, *rest in found) == sorted((text, 2, "n") for text in TEXTS)
    assert corners.visible("odd") == [0, 1, 2]
    assert corners.rows(f"select block from {corners.notes('odd', 'block')} except select block from corners.named") == []


@pytest.mark.full
def test_the_ends_of_a_type_are_found_by_the_bounds_of_a_batch(corners) -> None:
    """Bounds are rounded to powers of two, outwards, and a type has no value beyond its ends: by default both in one batch."""
    for block in (1, 2, 3, 4):
        corners.run("run", "--select", "stg_ends+", variables={"upto": block})
    found = corners.rows("select small, version from live_ends order by small")
    assert found == [(-128, 3), (-1, 4), (0, 1), (5, 1), (127, 2)]


@pytest.mark.full
def test_tokens_are_the_same_in_every_zone(corners) -> None:
    """In New York the two moments are half past one of one night, on which the clocks go back."""
    models = ("stg_moments", "moments", "stg_raw", "raw")
    for zone, upto in (("America/New_York", 1), ("Europe/Berlin", 3)):
        with sessions_with({"spark.sql.session.timeZone": zone}):
            corners.run("run", "--select", *models, variables={"upto": upto})
    assert corners.rows(f"select count(distinct block), max(batch) from {corners.notes('moments', 'block')}") == [(2, 1)]
    corners.run("run", "--select", "raw", variables={"upto": 3})
    assert corners.rows(f"select batch, count(*) from {corners.notes('raw', 'block')} group by 1 order by 1") == [(1, 1), (2, 2)]


@pytest.mark.full
def test_a_retention_is_one_value_and_leaves_out_versions_that_were_undone(corners) -> None:
    _live(corners, "a", "(1, 85, true), (2, 79, true), (3, 100, false)", "forgetful")
    _live(corners, "b", "(3, 1000, false)", "forgetful")
    assert operate(corners, "undo", model="forgetful", batch=2).success
    corners.sql("insert into corners.events values (5, 90, false, 'c')")
    corners.sql("create or replace view corners.stg_lives as select * from corners.events where block <> 'b'")
    corners.run("run", "--select", "forgetful", "keeping")
    tombstones = "select id from {} where ledger_sign = 0"
    for name in ("forgetful", "keeping"):
        assert operate(corners, "optimize", model=name).success
    assert corners.rows(tombstones.format(corners.data("forgetful"))) == [(1,)]
    # a retention that comes to NULL drops no tombstone
    assert {(1,), (2,)} <= set(corners.rows(tombstones.format(corners.data("keeping"))))


@pytest.mark.full
def test_a_model_that_always_refreshes_does_not_lose_blocks(corners) -> None:
    corners.sql("insert into corners.events values (2, 3, false, 'a'), (3, 4, false, 'b')")
    corners.run("run", "--select", "stg_lives", "refreshed")
    corners.sql("create or replace view corners.stg_lives as select * from corners.events where block <> 'a'")
    said = corners.fails("run", "--select", "refreshed")
    assert "full_refresh: true would lose 1 block" in said and "for example: a" in said
    corners.run("run", "--select", "stg_lives", "refreshed")


@pytest.mark.full
def test_changes_that_are_gone_are_errors(corners) -> None:
    _live(corners, "c", "(4, 1, false)", "lasting")
    _live(corners, "d", "(4, 2, false)", "lasting", "since")
    assert corners.rows("select version, ledger_sign from since order by 2") == [(1, -1), (2, 1)]
    corners.run("run", "--empty", "--select", "since_without_rows")
    assert corners.rows("select * from since_without_rows") == []
    assert operate(corners, "optimize", model="lasting").success
    for seen in ("", " where id = -1"):
        with pytest.raises(Exception, match="lasting: changes after=1 are gone"):
            corners.rows(f"select * from since{seen}")
    corners.write("models/lasting.sql", model("ledger(ref('stg_lives'))", EVENTS | {"deletes": "unversioned"}))
    corners.run("run", "--full-refresh", "--select", "lasting")
    with pytest.raises(Exception, match="lasting: changes after=1 are gone"):
        corners.rows("select * from since")  # the view as it was
    assert "changes after=1 are gone" in corners.fails("run", "--select", "since")


def test_a_sign_is_the_number_that_it_is_checked_to_be(corners) -> None:
    corners.run("run", "--select", "stg_signs", "signs")
    assert corners.rows(f"select ledger_sign from {corners.data('signs')}") == [(1,)]


def test_types_and_names_that_meet_words_of_the_package_or_of_spark(corners, part: str) -> None:
    """Each is read twice, so that its table is compared with its stage; then operations find it by its name."""
    corners.run("run", "--select", "stg_names+")
    corners.run("run", "--select", "Odd_Names", "counted_odd")
    found = corners.rows(f"select id, version, stored, Location, size(map), wide.`{part}29`, c from live_names")
    assert found == [(1, 2, 4, "there", 1, 29, "x  ")]
    assert corners.rows("select * from counted_odd_live") == [("there", 4, 1)]
    for operation in ("status", "optimize"):
        assert operate(corners, operation, model="Odd_Names").success
    assert corners.visible("odd_names") == [-1]


def test_a_state_that_is_not_there_is_an_error(corners) -> None:
    _live(corners, "t1", "(7, 1, false)", "timed")
    corners.sql("insert into corners.events values (7, 2, false, 't2')")
    missing = [f"missing_{number}" for number in range(len(MISSING))]
    ran = corners.invoke("run", "--select", "timed", "sums_of_timed", "then", *missing)
    assert {node.node.name for node in nodes_of(ran) if str(node.status) == "error"} == {*missing}, messages_of(ran)
    assert corners.rows("select * from then") == [(1,)]
    said = {node.node.name: " ".join(str(node.message).split()) for node in nodes_of(ran)}
    assert not [words for name, words in zip(missing, MISSING.values(), strict=True) if words not in said[name]], said


def test_late_keys_are_looked_up_within_the_literal_bounds_of_their_batch(corners) -> None:
    """Numbers, dates and timestamps have bounds. Text has none: where its bytes are no UTF-8, no stored row would be found."""
    corners.run("run", "--select", "stg_spread+", variables={"upto": 1})
    heard = Statements("model.corners.spread")
    assert corners.invoke("run", "--select", "stg_spread+", variables={"upto": 2}, callbacks=[heard]).success
    found = corners.rows(f"select id, ledger_sign from {corners.data('corners.spread')} where ledger_batch = 2")
    assert sorted(found) == sorted([(id_, -1) for id_ in LATE] + [(id_, 1) for id_ in LATE | NEW])
    (lookup,) = (one for one in heard.heard if one.startswith("insert"))
    bounded = re.findall(r"stored\.`?(\w+)`? between", lookup)
    assert sorted(bounded) == ["at", "day", "id"]


@pytest.mark.full
def test_an_empty_run_leaves_a_projection_that_has_to_be_built_again(corners) -> None:
    _live(corners, "s1", "(8, 1, false)", "timed", "sums_of_timed")
    corners.write(
        "models/sums_of_timed.sql", model("projection(ref('timed'))", {"group_by": ["id"], "measures": {"n": "count(*)"}})
    )
    before = corners.rows("select count(*) from sums_of_timed")
    corners.run("run", "--empty", "--select", "sums_of_timed")
    assert corners.rows("select count(*) from sums_of_timed") == before
    corners.run("run", "--select", "sums_of_timed")
    assert "id" in corners.sql("select * from sums_of_timed").columns


@pytest.mark.only("parquet", "delta", "iceberg")
@pytest.mark.full
def test_another_environment_is_read_with_defer(corners, tmp_path) -> None:
    _live(corners, "e1", "(10, 1, false)", "timed")
    manifest = corners.invoke("parse", "--write-json").result
    manifest.write(str(tmp_path / "manifest.json"))
    profile = (corners.directory / "profiles.yml").read_text()
    corners.write("models/deferred.sql", VIEW + "select count(*) as n from {{ collapsing.final(ref('timed')) }}")
    corners.write("models/deferred.yml", "models: [{name: sums_of_timed, data_tests: [collapsing.equals_recompute]}]")
    corners.write("profiles.yml", profile.replace("schema: corners", "schema: corners_dev"))
    defer = ("--defer", "--state", str(tmp_path))
    try:
        statuses = corners.run("build", "--select", "deferred", "sums_of_timed", *defer)
        assert "pass" in statuses.values(), "the projection of one environment is compared with the ledger of the other"
    finally:
        corners.write("profiles.yml", profile)
        (corners.directory / "models/deferred.yml").unlink()
    assert corners.rows("select n > 0 from corners_dev.deferred") == [(True,)]


@pytest.mark.full
def test_a_token_is_one_text_in_every_session_and_of_every_scale(corners) -> None:
    for ansi, token in (("false", "1e-7BD"), ("true", "1e-7BD"), ("false", "cast(1e-7 as decimal(12, 9))")):
        with sessions_with({"spark.sql.ansi.enabled": ansi}):
            corners.run("run", "--select", "stg_tokens", "tokens_of_types", variables={"token": token})
    assert corners.visible("tokens_of_types") == [0, 1]
    said = corners.fails("run", "--select", "stg_tokens", "tokens_of_types", variables={"token": "date'2014-01-01'"})
    assert '\'block\' was "block as number" and is "block as date"' in said


@pytest.mark.full
def test_an_equal_event_is_combined_and_said_to_be_applied(corners) -> None:
    corners.run("run", "--select", "stg_equals", "equals", "live_equals", variables={"upto": 1})
    corners.run("run", "--select", "stg_equals", "equals", "decided_equals", variables={"upto": 2})
    assert corners.rows("select v from live_equals") == [(10,)]
    assert corners.rows("select decision from decided_equals") == [("applied",), ("applied",)]


def test_a_row_that_differs_in_a_map_alone_replaces_the_one_before(corners) -> None:
    """And the state before it is there."""
    corners.run("run", "--select", "stg_tags", "tagged", "live_tagged", variables={"upto": 1})
    corners.run("run", "--select", "stg_tags", "tagged", "first_tagged", variables={"upto": 2})
    assert corners.rows("select * from live_tagged") == [(2,)]
    assert corners.rows(f"select decisions from {corners.notes('tagged', 'commit')} where batch = 2") == [({"applied": 1},)]
    assert corners.rows("select * from first_tagged") == [(1,)]
