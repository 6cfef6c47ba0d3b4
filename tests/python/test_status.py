"""The state of all ledgers: figures that equal what is counted; and an optimize of all of them."""

from __future__ import annotations

import json

import pytest

from support.dbt_project import VIEW, DbtProject, messages_of, model
from support.lives import operate

EVENTS = {"key": "id", "version": "version", "is_deleted": "is_deleted", "block": "block", "on_bad_rows": "reject"}
SIGNED = {"engine": "collapsing", "input": "signed", "key": "id", "sign": "sign", "order_by": "position", "block": "block"}
LEDGERS = {
    "orders": model("ledger(ref('events'))", EVENTS),
    "winners": model("ledger(ref('events'))", EVENTS | {"engine": "replacing"}),
    "firsts": model("ledger(ref('upserts'))", {"engine": "deduplicating", "key": "id", "block": "block"}),
    "signed": model("ledger(ref('signs'))", SIGNED),
    "whole": model("ledger(ref('upserts'))", {"key": "id", "version": "version"}),
}
IN_FULL = ("firsts",)  # whose figures are known by the rules of others
PROJECTIONS = {"by_id": model("projection(ref('orders'))", {"group_by": ["id"], "measures": {"n": "count(*)"}})}
FILES = {
    "models/events.sql": VIEW
    + "select id, version, is_deleted, block, block = 'b3' as is_late from status.arrived where sign is null",
    "models/upserts.sql": VIEW
    + "select id, version, block from status.arrived where sign is null and not is_deleted and id is not null",
    "models/signs.sql": VIEW + "select version as position, id, sign, block from status.arrived where sign is not null",
    "models/never.sql": model("ledger(ref('events'))", EVENTS),
    **{f"models/{name}.sql": sql for name, sql in (LEDGERS | PROJECTIONS).items()},
    **{f"models/live_{name}.sql": VIEW + f"select * from {{{{ collapsing.final(ref('{name}')) }}}}" for name in LEDGERS},
}


@pytest.fixture(scope="module")
def ledgers(full: bool) -> list[str]:
    """The ledgers that are built, in order."""
    return sorted(name for name in LEDGERS if full or name not in IN_FULL)


@pytest.fixture(scope="module")
def status(make_project, full: bool) -> DbtProject:
    """Ledgers of five kinds, by default four, with a block each, of which one row is bad, and a second block staged."""
    left_out = () if full else [f"models/{prefix}{name}.sql" for name in IN_FULL for prefix in ("", "live_")]
    project = make_project("status", {path: sql for path, sql in FILES.items() if path not in left_out})
    project.sql("create schema if not exists status")
    project.sql("create table status.arrived (id int, version int, is_deleted boolean, sign int, block string) using parquet")
    _arrive(project, "b1", "1, 1, false, null", "2, 1, false, null", "3, 1, true, null", "null, 1, false, null", "1, 1, null, 1")
    project.run("run", "--exclude", "never")
    _arrive(project, "b2", "1, 2, false, null", "2, 2, true, null", "4, 1, false, null", "1, 2, null, -1", "1, 3, null, 1")
    return project


def _arrive(project: DbtProject, block: str, *rows: str) -> None:
    project.sql(f"insert into status.arrived values {', '.join(f'({row}, {block!r})' for row in rows)}")


def _figures(project: DbtProject, capsys, **arguments) -> dict[str, dict]:
    """Ask for figures as JSON; returns them by model."""
    capsys.readouterr()
    assert operate(project, "status", format="json", **arguments).success
    found = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    return {figures["model"]: figures for figures in found}


def _said(project: DbtProject, operation: str, **arguments) -> list[str]:
    """Run an operation that must succeed; returns the lines that it logs."""
    said: list[str] = []
    hears = [lambda event: said.append(event.info.msg) if event.info.name == "JinjaLogInfo" else None]
    result = operate(project, operation, hears, **arguments)
    assert result.success, messages_of(result)
    return [line.removeprefix("collapsing: ") for line in said]


def _check_counts(project: DbtProject, figures: dict[str, dict], ledgers: list[str]) -> None:
    """Compare what is known with what a scan counts."""
    counted = " union all ".join(
        f"select '{name}', count(*), count_if(ledger_sign = 0), (select count(*) from live_{name}) from {project.data(name)}"
        for name in ledgers
    )
    for name, rows, tombstones, live in project.rows(counted):
        known = {"rows": rows, "live": live if name != "winners" else None, "tombstones": tombstones}
        assert {figure: figures[name][figure] for figure in known} == known, name


def test_figures_are_what_a_scan_counts(status, ledgers, capsys) -> None:
    with_blocks = [name for name in ledgers if name != "whole"]  # the runs of that one read the whole stage
    figures = _figures(status, capsys)
    assert list(figures) == sorted([*ledgers, "never"])
    assert (figures["never"]["state"], figures["orders"]["state"]) == ("not built", "built")
    assert {figures[name]["unread_blocks"] for name in with_blocks} == {1} and figures["whole"]["unread_blocks"] is None
    orders = {name: figures["orders"][name] for name in ("kind", "last_batch", "compacted", "batches", "rejects", "lag_batches")}
    assert orders == {"kind": "ledger", "last_batch": 1, "compacted": 0, "batches": 1, "rejects": 1, "lag_batches": 0}
    assert figures["orders"]["engine"].startswith("versioned_collapsing") and figures["orders"]["last_run_at"]
    status.run("run", "--select", *ledgers)
    figures = _figures(status, capsys)
    _check_counts(status, figures, ledgers)
    assert {figures[name]["unread_blocks"] for name in with_blocks} == {0}
    assert figures["orders"]["lag_batches"] == 1 and figures["orders"]["rejects"] == 1
    assert [(one["name"], one["batch"], one["lag_batches"]) for one in figures["orders"]["readers"]] == [("by_id", 1, 1)]
    assert figures["winners"]["lag_batches"] is None
    # a batch that has nothing for a projection is read by it too
    _arrive(status, "b3", "77, 1, true, null", "1, 2, false, null")
    status.run("run", "--select", "orders", "winners", *PROJECTIONS)
    figures = _figures(status, capsys, model="orders")["orders"]
    assert (figures["lag_batches"], figures["last_batch"], figures["batches"]) == (0, 3, 3)


def test_a_table_of_all_ledgers_and_lines_of_one(status, ledgers, capsys) -> None:
    capsys.readouterr()
    assert operate(status, "status").success
    assert operate(status, "status", model="orders").success
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0][:4] == ["model", "state", "last", "batch"]
    rows = {line[0]: line[1:] for line in lines[1 : len(ledgers) + 2]}
    assert rows.keys() == {*ledgers, "never"}
    assert rows["orders"][:2] == ["built", "3"] and rows["never"][:2] == ["not", "built"]
    assert ["unread", "blocks", "0"] in lines
    assert ["projection", "by_id", "has", "read", "up", "to", "batch", "3,", "0", "behind"] in lines


# Wrong arguments of status, and what is said of them.
WRONG_ARGUMENTS = [
    ({"format": "yaml"}, "status's format must be table or json; given: yaml"),
    ({"model": ["orders", "nobody"]}, "given: nobody"),
    ({"model": 5}, "given: 5"),
]


def test_what_status_cannot_tell_is_an_error(status, capsys, full: bool) -> None:
    """By default one wrong argument."""
    for arguments, words in WRONG_ARGUMENTS[: None if full else 1]:
        capsys.readouterr()
        assert not operate(status, "status", **arguments).success
        assert words in " ".join(capsys.readouterr().out.split()), words


WRONG_OF_OPTIMIZE = [
    ({"model": "by_id"}, "model 'by_id': optimize needs a ledger; this is a projection"),
    ({"keep_batches": -1}, "optimize's keep_batches must be a number of batches, 0 or more; given: -1"),
    ({"dry_run": "yes"}, "optimize's dry_run must be true or false; given: yes"),
]


def test_optimize_without_a_model_takes_every_ledger_that_is_built(status, ledgers, capsys, full: bool) -> None:
    before = {name: status.batches(name) for name in ledgers}
    said = _said(status, "optimize", dry_run=True)
    assert [line for line in said if line.startswith("orders: ") and "3" in line and "dry run" in line], said
    assert [line for line in said if line.startswith("never: left out: ")]
    assert not any(line.startswith("by_id: ") for line in said), "projections merge in their own runs"
    assert {name: status.batches(name) for name in ledgers} == before
    _said(status, "optimize")
    assert {name: status.visible(name) for name in ledgers} == {name: [-before[name][-1]] for name in ledgers}
    figures = _figures(status, capsys)
    _check_counts(status, figures, ledgers)
    assert (figures["orders"]["compacted"], figures["orders"]["batches"], figures["orders"]["rejects"]) == (3, 0, 1)
    for arguments, words in WRONG_OF_OPTIMIZE[: None if full else 1]:
        assert not operate(status, "optimize", **arguments).success
        assert words in " ".join(capsys.readouterr().out.split()), words


@pytest.mark.full
def test_what_comes_upon_a_compacted_batch_is_counted_too(status, capsys) -> None:
    names = ["orders", "winners"]
    for block, row in (("b9", "9, null, false, null"), ("b10", "1, 9, false, null")):
        _arrive(status, block, row)
        status.run("run", "--select", *names)
    assert status.visible("winners") == [-3, 4, 5], "a block of bad rows alone is a batch of notes"
    _check_counts(status, _figures(status, capsys, model=names), names)
