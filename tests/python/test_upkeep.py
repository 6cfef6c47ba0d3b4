"""What keeps tables small: tombstones that may be forgotten, optimize by itself, parts of projections that are merged."""

from __future__ import annotations

import json
import re

import pytest

from support.dbt_project import LEDGER, VIEW, DbtProject, model
from support.sessions import set_in_sessions
from support.targets import TARGETS

LEDGERS = {
    "kept": LEDGER,
    "forgetting": LEDGER | {"tombstone_retention": 2},
    "shrinking": LEDGER | {"optimize_after": 2},
    "patient": LEDGER | {"optimize_after": 9},
}
# Ledgers that only --full has.
LATER = ("patient", "kept", "forgetting")


@pytest.fixture(scope="module")
def ledgers(full: bool) -> list[str]:
    """The ledgers that there are."""
    return [name for name in LEDGERS if full or name not in LATER]


@pytest.fixture(scope="module")
def upkeep(make_project, ledgers: list[str], full: bool) -> DbtProject:
    """Ledgers with one setting each, and for the full run a projection, over a table of blocks, one of which is folded."""
    files = {"models/stage.sql": VIEW + "select * from upkeep.arrived"}
    for name in ledgers:
        settings = LEDGERS[name]
        files[f"models/{name}.sql"] = model("ledger(ref('stage'))", settings)
        files[f"models/live_{name}.sql"] = VIEW + f"select * from {{{{ collapsing.final(ref('{name}')) }}}}"
    sums = {"group_by": ["even"], "measures": {"n": "count(*)", "amount": "sum(amount)", "most": "max(amount)"}}
    if full:
        files["models/sums.sql"] = model("projection(ref('kept'))", sums | {"group_by": {"even": "id % 2 = 0"}})
        files["models/live_sums.sql"] = VIEW + "select * from {{ collapsing.final(ref('sums')) }}"
    project = make_project("upkeep", files)
    project.sql("create schema if not exists upkeep")
    project.sql("create table upkeep.arrived (id int, version int, is_deleted boolean, amount int, block string) using parquet")
    _stage(project, "a", "(1, 5, false, 10), (2, 1, false, 20), (3, 7, false, 30)")
    project.run("run")
    return project


def _stage(project: DbtProject, block: str, rows: str) -> None:
    project.sql(f"insert into upkeep.arrived select *, '{block}' from values {rows}")


def _fold(project: DbtProject, block: str, rows: str, *models: str) -> None:
    """Stage a block, and fold it with some models."""
    _stage(project, block, rows)
    project.run("run", "--select", *models)


def _optimize(project: DbtProject, name: str) -> list[str]:
    """Optimize a model; returns the lines that it says."""
    said: list[str] = []

    def hears(event) -> None:
        if event.info.name == "JinjaLogInfo":
            said.append(event.info.msg)

    given = json.dumps({"model": name})
    assert project.invoke("run-operation", "collapsing.optimize", "--args", given, callbacks=[hears]).success
    return said


def _live(project: DbtProject, name: str) -> list[tuple]:
    return project.rows(f"select id, version from live_{name} order by id")


def test_a_ledger_optimizes_itself_after_so_many_batches(upkeep, ledgers: list[str]) -> None:
    _fold(upkeep, "b", "(1, 6, true, 0), (3, 8, true, 0)", *ledgers)
    _fold(upkeep, "c", "(2, 9, false, 25)", *ledgers)
    for name in ledgers:
        assert _live(upkeep, name) == [(2, 9)], name
    rows = {name: upkeep.rows(f"select min(ledger_batch), count(*) from {name}")[0] for name in ledgers}
    assert all(rows[name] == (1, 9) for name in LATER if name in ledgers)
    assert rows["shrinking"] == (-2, 5)


@pytest.mark.full
def test_a_forgotten_tombstone_lets_a_late_event_bring_its_key_back(upkeep, ledgers: list[str]) -> None:
    tombstones = "select id, version from {} where ledger_sign = 0 order by id"
    for name in ("kept", "forgetting"):
        assert upkeep.rows(tombstones.format(name)) == [(1, 6), (3, 8)]
        _optimize(upkeep, name)
    assert upkeep.rows(tombstones.format("kept")) == [(1, 6), (3, 8)]
    assert upkeep.rows(tombstones.format("forgetting")) == [(3, 8)], "the greatest version is 9: 7 and later are kept"
    late = [name for name in ledgers if name != "shrinking"]
    _fold(upkeep, "late", "(1, 4, false, 11), (3, 6, false, 31)", *late)
    for name in [name for name in late if name != "forgetting"]:
        assert _live(upkeep, name) == [(2, 9)], name
    assert _live(upkeep, "forgetting") == [(1, 4), (2, 9)]


# on Thrift dbt's session is its own: no setting of the tests' reaches it
@pytest.mark.only(*(target for target in TARGETS if target != "cluster"))
@pytest.mark.full
def test_the_files_of_a_base_hold_ranges_of_keys_and_optimize_says_what_it_did(upkeep, spark) -> None:
    for version, odd in ((20, 0), (21, 1), (22, 0)):  # keys of two batches lie between each other, a third takes rows back
        staged = f"select id * 2 + {odd}, {version}, false, 1, 'version {version}' from range(1000, 1200)"
        upkeep.sql(f"insert into upkeep.arrived {staged}")
        upkeep.run("run", "--select", "kept", "sums")
    before = upkeep.rows("select count(*) from kept")[0][0]
    # a small base would be one file
    end = set_in_sessions({"spark.sql.adaptive.coalescePartitions.enabled": "false", "spark.sql.shuffle.partitions": "4"})
    try:
        said = _optimize(upkeep, "kept")
    finally:
        end()
        spark.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
    ranges = upkeep.rows("select min(id), max(id) from kept group by input_file_name() order by 1")
    assert len(ranges) > 1
    assert all(last < first for (_, last), (first, _) in zip(ranges, ranges[1:], strict=False))
    after = upkeep.rows("select count(*) from kept")[0][0]
    assert before > after > 400
    assert [line for line in said if "into a base" in line]
    assert [line for line in said if f"rows: {before}, now {after}" in line]
    assert [line for line in said if re.search(r"bytes: \d+, now \d+", line)]


def _check_sums(project: DbtProject) -> None:
    recomputed = "select id % 2 = 0, count(*), sum(amount), max(amount) from live_kept group by 1 order by 1"
    assert project.rows("select * from live_sums order by even") == project.rows(recomputed)


@pytest.mark.full
def test_the_parts_of_a_projection_are_merged_by_themselves_when_there_are_many(upkeep) -> None:
    most = 0
    for number in range(30):
        rows = f"({number % 5}, {100 + number}, {'true' if number % 7 == 3 else 'false'}, {number})"
        _fold(upkeep, f"many {number:02}", rows, "kept", "sums")
        _check_sums(upkeep)
        base = upkeep.rows("select coalesce(min(ledger_batch), 0) from sums where ledger_batch < 0")[0][0]
        most = max(most, upkeep.rows(f"select count(distinct ledger_batch) from sums where ledger_batch > {-base}")[0][0])
    assert most == 16
