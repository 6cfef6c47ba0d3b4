"""The main job on the first days of flights: every proof passes on what was folded, and every dbt test fails on bad data."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest

import report
from support.dbt_project import REPOSITORY, nodes_of

# on other targets scripts/demo runs it whole
pytestmark = [pytest.mark.only("parquet"), pytest.mark.full]

FIRST_DAYS = 3
PATH = "path:models/flights"
CHANGES_FROM = "2013-01-02"  # the second of these days: manufacturers are renamed on 5 and 11 January


@pytest.fixture(scope="module")
def flights(repository, local: Path):
    """This repository with the flights of the first days folded in two batches; aircraft change in the second and a third."""
    specification = importlib.util.spec_from_file_location("events", REPOSITORY / "scripts" / "flights" / "events.py")
    events = sys.modules["events"] = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(events)
    year = events.original_flights()
    day = (year["scheduled_at"] - year["scheduled_at"].min()).dt.days
    events.original_flights = lambda: year[day < FIRST_DAYS].reset_index(drop=True)
    events.CHANGES_FROM = CHANGES_FROM
    stream = events.write_stream(local / "events")
    names, aircraft = list(stream["files"]), list(stream["aircraft"]["files"])
    until_flown = [name for name in aircraft if name[-18:] <= names[-1][-18:]]

    repository.run("seed", "--select", "airlines")
    # all others are views; the last changes of the register need a run of its ledger alone
    landings = (
        (names[:5] + aircraft[:1], [PATH]),
        (names[5:] + until_flown[1:], [f"{PATH}/ledgers", f"{PATH}/projections"]),
        (aircraft[len(until_flown) :], ["aircraft_ledger"]),
    )
    for landing, selected in landings:
        _land(local, landing)
        repository.run("run", "--select", *selected)
    return repository


def _land(local: Path, names: list[str]) -> None:
    """Put files of events where the stages read them, those of flights and of aircraft in a folder each."""
    for name in names:
        folder = name.removesuffix(name[-19:])
        os.link(local / "events" / folder / name, local / "landing" / folder / name)


def _tests_of(result) -> dict[str, str]:
    return {node.node.name: str(node.status) for node in nodes_of(result)}


def test_every_proof_passes(flights) -> None:
    statuses = flights.run("test", "--select", PATH)
    assert set(statuses.values()) == {"pass"}
    proofs = {name for name in statuses if name.endswith("_equal_original")}
    assert proofs == {
        "flights_equal_original",
        "departures_by_hour_equal_original",
        "flights_by_carrier_month_equal_original",
        "flights_by_route_equal_original",
        "aircraft_equal_original",
        "flights_by_manufacturer_equal_original",
    }


def test_the_stream_was_disordered(flights) -> None:
    """Late and repeated events and deletes were there to be got right."""
    [(cancelled, tombstones)] = flights.rows(
        "select (select count(*) from stg_flights_2013 where cancelled), "
        f"(select count_if(ledger_sign = 0) from {flights.data('flights_ledger')})"
    )
    assert 0 < cancelled == tombstones
    [(staged, appended)] = flights.rows(
        "select (select count(*) from stg_flight_events), "
        f"(select count_if(ledger_sign >= 0) from {flights.data('flights_ledger')})"
    )
    assert appended < staged
    late = flights.rows(
        "select count(*) from stg_flight_events as late join stg_flight_events as seen "
        "using (carrier, flight, scheduled_at) where late._block > seen._block and late.event_at < seen.event_at"
    )
    assert late[0][0] > 0


def test_the_register_changed_after_its_flights_were_folded(flights) -> None:
    """Renamed, removed and late aircraft were there to be got right, and no flight was folded for them."""
    [(renamed, removed)] = flights.rows(
        "select count(distinct if(now.manufacturer <> first.manufacturer, tailnum, null)), count_if(now.tailnum is null) "
        "from stg_aircraft_events as first left join stg_aircraft_2013 as now using (tailnum) "
        f"where first.changed_at < '{CHANGES_FROM}'"
    )
    assert renamed > 500 and removed > 10
    commits = flights.notes("aircraft_ledger", "commit")
    history = flights.rows(f"select batch, tombstones, decisions['stale'] from {commits} order by batch")
    assert [batch for batch, _, _ in history] == [1, 2, 3]
    assert sum(tombstones for _, tombstones, _ in history) > removed / 2
    assert sum(stale or 0 for _, _, stale in history) > 0

    for table in ("flights_ledger", "flights_by_tailnum_projection"):
        assert flights.visible(table)[-1] == 2
    flown = flights.rows(
        "select distinct manufacturer from stg_aircraft_events join flights_by_tailnum_projection using (tailnum) "
        f"where changed_at < '{CHANGES_FROM}'"
    )
    live = {name for (name,) in flights.rows("select manufacturer from punctuality_by_manufacturer")}
    assert {"AIRBUS INDUSTRIE", "MCDONNELL DOUGLAS AIRCRAFT CO"} <= {name for (name,) in flown} - live
    assert {"AIRBUS", "MCDONNELL DOUGLAS", "not in the register"} <= live


def _rows(flights, sql: str) -> list[dict]:
    return [row.asDict() for row in flights.sql(sql).collect()]


def test_the_report_shows_whose_sums_are_right(flights, tmp_path: Path) -> None:
    query = (REPOSITORY / "scripts" / "flights" / "compared.sql").read_text()
    compared = _rows(flights, re.sub(r"\{\{ ref\('(\w+)'\) \}\}", r"demo.\1", query))
    sums = {row["way"]: [float(row[name]) for name in ("flights", "departure_delay", "late")] for row in compared}
    wrong = {row["way"]: row["wrong_groups"] for row in compared}
    assert sums["collapsing"] == [0, 0, 0] and sums["append"] != [0, 0, 0] != sums["merge on the key"]
    assert wrong["append"] >= wrong["merge on the key"] > wrong["collapsing"] == 0

    marts = ("punctuality_by_carrier", "punctuality_by_manufacturer", "busiest_routes", "busiest_hours")
    figures = {mart: _rows(flights, f"select * from {mart}") for mart in marts}
    hours = figures["busiest_hours"]
    hours[0] |= {"hour_of_day": 3, "mean_departure_delay": None}  # an hour that has no mean, nor flights of other airports
    labels = ("January to November", "2013-12-01", "stragglers")
    report.write_page(
        tmp_path / "flights.html",
        "flights.html",
        ledgers=[],
        project="collapsing",
        stream={"flights": 1, "events": 2, "late_events": 1, "rows": 3, "aircraft": {"registered": 5, "changes": 4}},
        batches=[{"label": label, "blocks": 1, "events": 9, "aircraft": 2, "seconds": 5.0} for label in labels],
        typical=5.0,
        proofs=[{"name": "flights_equal_original", "shows": "the flights are <right>", "status": "pass", "seconds": 1.0}],
        other_tests=3,
        compared=compared,
        marts=figures,
        seconds=10.0,
        versions="dbt",
    )
    page = (tmp_path / "flights.html").read_text()
    right = r"<th>collapsing</th>\s*" + r'<td class="number">0</td>\s*' * 3 + r'<td class="number">0 of \d'
    assert re.search(right, page)
    assert "1 of 1 proofs passed" in page and "&lt;right&gt;" in page and "<right>" not in page
    assert all(f"<th>{label}</th>" in page for label in labels)
    assert re.search(rf"<th>3:00</th><td class=\"number\">{hours[0]['flights_a_day']}</td>\s*(<td>–</td>\s*){{3}}</tr>", page)
    assert "src=" not in page and "http" not in page


def test_every_dbt_test_fails_on_bad_data(flights, spark, local: Path) -> None:
    events = spark.table("demo.stg_flight_events").drop("_block").limit(1)
    nothing = [*_nulls_of(events.drop("event")), "'lost' as event"]
    events.selectExpr(*nothing).write.mode("append").parquet(str(local / "landing" / "flight_events"))
    original = spark.table("demo.stg_flights_2013").limit(1)
    original.selectExpr(*_nulls_of(original)).write.mode("append").parquet(str(local / "events" / "original"))
    aircraft = spark.table("demo.stg_aircraft_events").drop("_block").limit(1)
    aircraft.selectExpr(*_nulls_of(aircraft)).write.mode("append").parquet(str(local / "landing" / "aircraft_events"))
    register = spark.table("demo.stg_aircraft_2013").limit(1)
    register.selectExpr(*_nulls_of(register)).write.mode("append").parquet(str(local / "events" / "original_aircraft"))
    flights.sql("insert into airlines values (null, null), ('UA', 'another United')")
    lost = "'lost' as tailnum"
    for ledger in ("flights_ledger", "aircraft_ledger"):
        _append_nulls(flights, ledger, ["7 as ledger_sign", "null as ledger_batch"])
    _append_nulls(flights, "flights_ledger", ["'lost' as event", "1 as ledger_sign", "1001 as ledger_batch"])
    _append_nulls(flights, "aircraft_ledger", ["1 as ledger_sign", "1001 as ledger_batch"])
    unregistered = [lost, "'not in the register' as manufacturer", "1 as ledger_sign", "1001 as ledger_batch"]
    _append_nulls(flights, "aircraft_ledger", unregistered)
    for projection in ("departures_by_hour", "flights_by_carrier_month", "flights_by_route", "flights_by_tailnum"):
        _append_nulls(flights, f"{projection}_projection", ["1 as ledger_sign", "1001 as ledger_batch"])
    _append_nulls(flights, "flights_by_tailnum_projection", [lost, "1 as ledger_sign", "1001 as ledger_batch"])
    statuses = _tests_of(flights.invoke("test", "--select", "path:models/flights", "path:seeds/flights"))
    assert len(statuses) == 50
    assert {name for name, status in statuses.items() if status != "fail"} == set()


def _nulls_of(frame) -> list[str]:
    """Return a NULL for each column of a DataFrame, as SQL."""
    return [f"cast(null as {kind}) as {name}" for name, kind in frame.dtypes]


def _append_nulls(project, table: str, given: list[str]) -> None:
    """Append a row to a table that is NULL but for what is given, and but for the parts of measures, which are 1."""
    names = {text.rsplit(" ", 1)[1]: text for text in given}
    values = [
        names.get(name, f"cast({1 if name.startswith(('ledger_count_', 'ledger_sum_')) else 'null'} as {kind}) as {name}")
        for name, kind in project.sql(f"select * from {table}").dtypes
    ]
    project.sql(f"insert into {table} select {', '.join(values)}")
