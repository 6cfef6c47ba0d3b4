"""Corners in which a row could be lost, read twice or shown wrongly without a word: tokens, keys, zones, refreshes, retention."""

from __future__ import annotations

import pytest

from support.dbt_project import VIEW, DbtProject, model
from support.lives import operate

EVENTS = {"key": "id", "version": "version", "is_deleted": "is_deleted", "block": "block"}
SIGNED = {"engine": "collapsing", "input": "signed", "key": "id", "sign": "sign", "order_by": "position"}
# text that Spark, a driver or a parser could take for something else: as bytes, for a source file has no such text
TEXTS = [b"", b"\xff", b"\xfe\xff", b"x${env:HOME}", b"${x}", b"it's \\", b"\n", "é".encode(), b"$61", b"a;b,c"]
ZONED = "{{ config(pre_hook=\"set time zone '{{ var('zone', 'UTC') }}'\") }}\n"
ONE_HOUR_TWICE = "timestamp'2013-11-03 05:30:00Z', timestamp'2013-11-03 06:30:00Z'"

FILES = {
    "models/stg_odd.sql": f"{VIEW}select * from corners.named where version <= {{{{ var('upto', 9) }}}}",
    "models/odd.sql": model("ledger(ref('stg_odd'))", EVENTS | {"key": "name"}),
    "models/live_odd.sql": VIEW + "select * from {{ collapsing.final(ref('odd')) }}",
    "models/stg_many.sql": VIEW + "select * from corners.tokens",
    "models/many.sql": model("ledger(ref('stg_many'))", EVENTS),
    "models/stg_moments.sql": f"{VIEW}select 1 as id, unix_micros(block) as version, false as is_deleted, block "
    f"from values {', '.join(f'({moment})' for moment in ONE_HOUR_TWICE.split(', '))} as t (block)",
    "models/moments.sql": ZONED + model("ledger(ref('stg_moments'))", EVENTS),
    "models/stg_raw.sql": f"{VIEW}select 1 as id, version, false as is_deleted, block "
    "from values (1, X'FF'), (2, X'FE'), (3, X'') as t (version, block) where version <= {{ var('upto', 9) }}",
    "models/raw.sql": model("ledger(ref('stg_raw'))", EVENTS),
    "models/stg_lives.sql": VIEW + "select * from corners.events",
    "models/forgetful.sql": model("ledger(ref('stg_lives'))", EVENTS | {"tombstone_retention": "10 + 10"}),
    "models/refreshed.sql": "{{ config(full_refresh=true) }}\n" + model("ledger(ref('stg_lives'))", EVENTS),
    "models/lasting.sql": model("ledger(ref('stg_lives'))", EVENTS),
    "models/since.sql": VIEW + "select * from {{ collapsing.changes(ref('lasting'), after=1) }}",
    "models/stg_signs.sql": VIEW + "select 1 as id, '1d' as sign, 1 as position, 'b' as block",
    "models/signs.sql": model("ledger(ref('stg_signs'))", SIGNED | {"block": "block"}),
    "models/whole.sql": model("ledger(ref('stg_signs'))", SIGNED),
}


@pytest.fixture(scope="module")
def corners(make_project) -> DbtProject:
    """A project of all that this file folds; nothing has arrived."""
    project = make_project("corners", FILES)
    project.sql("create schema if not exists corners")
    rows = "version int, is_deleted boolean, `#note` string, block string"
    project.sql(f"create table corners.named (name string, {rows}) using parquet")
    for table in ("tokens", "events"):
        project.sql(f"create table corners.{table} (id int, version int, is_deleted boolean, block string) using parquet")
    return project


def _live(project: DbtProject, block: str, rows: str, *models: str) -> None:
    """Land rows of (id, version, is_deleted) as a block, and run models over them."""
    project.sql(f"insert into corners.events select *, '{block}' from values {rows}")
    project.run("run", "--select", "stg_lives", *models)


def test_bytes_that_are_no_text_and_variables_of_spark_are_keys_and_tokens_as_they_are(corners) -> None:
    """Each key has a token of its own text; the second version of a key finds the first by the bounds of its batch."""
    for version in (1, 2):
        for text in TEXTS:
            name = f"cast(X'{text.hex()}' as string)"
            token = f"cast(concat(X'{text.hex()}', cast('{version if text else version * ' '}' as binary)) as string)"
            token = "''" if not text and version == 1 else token
            corners.sql(f"insert into corners.named values ({name}, {version}, false, 'n', {token})")
        corners.run("run", "--select", "stg_odd+", variables={"upto": version})
    corners.run("run", "--select", "odd")
    found = corners.rows("select cast(name as binary), version, `#note` from live_odd")
    assert sorted((bytes(name), *rest) for name, *rest in found) == sorted((text, 2, "n") for text in TEXTS)
    assert corners.batches("odd") == [1, 2]
    unknown = "select block from odd__manifest where block is not null except select block from corners.named"
    assert corners.rows(unknown) == []


def test_the_empty_token_is_read_where_many_are_folded(corners) -> None:
    corners.sql("insert into corners.tokens select id, 1, false, concat('b', id) from range(1200)")
    corners.run("run", "--select", "stg_many+")
    corners.sql("insert into corners.tokens values (5000, 1, false, ''), (5001, 1, false, cast(X'FF' as string))")
    corners.run("run", "--select", "many")
    corners.run("run", "--select", "many")
    assert corners.rows("select ledger_batch, count(*) from many group by 1 order by 1") == [(1, 1200), (2, 2)]


def test_tokens_are_the_same_in_every_zone(corners, spark) -> None:
    """In New York the two moments are half past one of one night, on which the clocks go back."""
    try:
        corners.run("run", "--select", "stg_moments+", variables={"zone": "America/New_York"})
        corners.run("run", "--select", "moments", variables={"zone": "Europe/Berlin"})
    finally:
        spark.sql("set time zone 'UTC'")
    assert corners.rows("select count(distinct block) from moments__manifest where block is not null") == [(2,)]
    assert corners.batches("moments") == [1]
    for upto in (1, 3, 3):
        corners.run("run", "--select", "stg_raw", "raw", variables={"upto": upto})
    assert corners.rows("select ledger_batch, count(*) from raw__manifest where block is not null group by 1 order by 1") == [
        (1, 1),
        (2, 2),
    ]


def test_a_retention_is_one_value_and_leaves_out_versions_that_were_taken_back(corners) -> None:
    _live(corners, "a", "(1, 85, true), (2, 79, true), (3, 100, false)", "forgetful")
    _live(corners, "b", "(3, 1000, false)", "forgetful")
    assert operate(corners, "undo", model="forgetful").success
    assert operate(corners, "optimize", model="forgetful").success
    assert corners.rows("select id from forgetful where ledger_sign = 0") == [(1,)]


def test_a_model_that_always_refreshes_does_not_lose_blocks(corners) -> None:
    corners.run("run", "--select", "stg_lives", "refreshed")
    corners.sql("create or replace view corners.stg_lives as select * from corners.events where block = 'b'")
    said = corners.fails("run", "--select", "refreshed")
    assert "full_refresh: true would lose 1 blocks" in said and "for example: a" in said
    corners.run("run", "--select", "stg_lives", "refreshed")


def test_a_state_that_is_not_there_yet_and_changes_that_are_gone_are_errors(corners) -> None:
    _live(corners, "c", "(4, 1, false)", "lasting")
    _live(corners, "d", "(4, 2, false)", "lasting", "since")
    assert corners.rows("select version, ledger_sign from since order by 2") == [(1, -1), (2, 1)]
    said = corners.fails("show", "--inline", "select * from {{ collapsing.final(ref('lasting'), as_of=3) }}")
    assert "final has no state as_of=3 yet: the last batch is 2" in said
    assert operate(corners, "optimize", model="lasting").success
    with pytest.raises(Exception, match="lasting: changes after=1 cannot be told any more"):
        corners.rows("select * from since")
    other = "models/lasting.sql", model("ledger(ref('stg_lives'))", EVENTS | {"deletes": "unversioned"})
    corners.write(*other)
    corners.run("run", "--full-refresh", "--select", "lasting")
    assert "changes after=1 cannot be told any more" in corners.fails("run", "--select", "since")


def test_a_sign_is_the_number_that_it_is_checked_to_be(corners, capsys) -> None:
    corners.run("run", "--select", "stg_signs", "signs", "whole")
    assert corners.rows("select ledger_sign from signs") == [(1,)]
    assert not operate(corners, "optimize", model="whole").success
    assert "cannot be optimized without the setting 'block'" in " ".join(capsys.readouterr().out.split())
    corners.write("models/whole.sql", model("ledger(ref('stg_signs'))", SIGNED | {"optimize": "auto"}))
    assert "cannot be optimized without the setting 'block'" in corners.fails("run", "--select", "whole")
