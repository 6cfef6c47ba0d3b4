"""What keeps tables small: tombstones that may be forgotten, optimize by itself, parts of projections that are merged."""

from __future__ import annotations

import pytest

from support.dbt_project import LEDGER, VIEW, DbtProject, model
from support.lives import operate
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


def _live(project: DbtProject, name: str) -> list[tuple]:
    return project.rows(f"select id, version from live_{name} order by id")


def test_a_ledger_optimizes_itself_after_so_many_batches(upkeep, ledgers: list[str]) -> None:
    _fold(upkeep, "b", "(1, 6, true, 0), (3, 8, true, 0)", *ledgers)
    _fold(upkeep, "c", "(2, 9, false, 25)", *ledgers)
    for name in ledgers:
        assert _live(upkeep, name) == [(2, 9)], name
    rows = {name: (upkeep.visible(name), *upkeep.rows(f"select count(*) from {upkeep.data(name)}")[0]) for name in ledgers}
    assert all(rows[name] == ([0, 1, 2, 3], 9) for name in LATER if name in ledgers)
    assert rows["shrinking"] == ([-2, 3], 5)


@pytest.mark.full
def test_a_forgotten_tombstone_lets_a_late_event_bring_its_key_back(upkeep, ledgers: list[str]) -> None:
    def tombstones(name: str) -> list[tuple]:
        return upkeep.rows(f"select id, version from {upkeep.data(name)} where ledger_sign = 0 order by id")

    for name in ("kept", "forgetting"):
        assert tombstones(name) == [(1, 6), (3, 8)]
        assert operate(upkeep, "optimize", model=name).success
    assert tombstones("forgetting") == [(3, 8)], "the greatest version is 9: 7 and later are kept"
    late = [name for name in ledgers if name != "shrinking"]
    _fold(upkeep, "late", "(1, 4, false, 11), (3, 6, false, 31)", *late)
    for name in [name for name in late if name != "forgetting"]:
        assert _live(upkeep, name) == [(2, 9)], name
    assert _live(upkeep, "forgetting") == [(1, 4), (2, 9)]


# on Thrift dbt's session is its own: no setting of the tests' reaches it
@pytest.mark.only(*(target for target in TARGETS if target != "cluster"))
@pytest.mark.full
def test_the_files_of_a_compacted_batch_hold_ranges_of_keys(upkeep, spark) -> None:
    for version, odd in ((20, 0), (21, 1), (22, 0)):  # keys of two batches lie between each other, a third takes rows back
        staged = f"select id * 2 + {odd}, {version}, false, 1, 'version {version}' from range(1000, 1200)"
        upkeep.sql(f"insert into upkeep.arrived {staged}")
        upkeep.run("run", "--select", "kept", "sums")
    before = upkeep.rows(f"select count(*) from {upkeep.data('kept')}")
    # a small batch would be one file
    end = set_in_sessions({"spark.sql.adaptive.coalescePartitions.enabled": "false", "spark.sql.shuffle.partitions": "4"})
    try:
        assert operate(upkeep, "optimize", model="kept").success
    finally:
        end()
        spark.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
    ranges = upkeep.rows(f"select min(id), max(id) from {upkeep.data('kept')} group by input_file_name() order by 1")
    assert len(ranges) > 1
    assert all(last < first for (_, last), (first, _) in zip(ranges, ranges[1:], strict=False))
    assert before > upkeep.rows(f"select count(*) from {upkeep.data('kept')}") > [(400,)]


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
        most = max(most, len(upkeep.visible("sums")) - 1)
    assert most == 17, "more than 16 above the compacted one are merged by the next run"
