"""The demo's report: one HTML file with plots, readable without a network.

``read_plots`` asks Spark for what the plots show; ``write_report`` draws them into report.html. Nothing in
the page points outside of it: plots are inline SVG, styles are inline CSS, and there is no script.
"""

from __future__ import annotations

import html
import io
import os
import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

# What the plots read: name to SQL over the marts; {model} stands for the relation of that model.
QUERIES = {
    "carriers": "select airline, mean_departure_delay, mean_arrival_delay from {punctuality_by_carrier}",
    "hours": "select origin, hour_of_day, flights_a_day, mean_departure_delay from {busiest_hours}",
    "routes": """
        select origin, dest, flights, mean_arrival_delay from {busiest_routes}
        order by flights desc, origin, dest
        limit 15
    """,
}

INK, MUTED, GRID = "#1f2933", "#616e7c", "#e4e7eb"
BLUE, ORANGE, GREY = "#2b6cb0", "#dd7a1f", "#9aa5b1"
AIRPORTS = {"EWR": ("Newark", BLUE), "JFK": ("Kennedy", ORANGE), "LGA": ("LaGuardia", "#3f8f6b")}

STYLE = {
    "svg.fonttype": "none",  # letters stay letters: small, sharp, read aloud
    "font.size": 10,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": INK,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


@dataclass
class Batch:
    """One ``dbt run``: its label, what arrived, how long it took (seconds), and what the ledger appended."""

    label: str
    blocks: int
    events: int
    seconds: float
    state_rows: int = 0
    cancel_rows: int = 0
    tombstones: int = 0

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


def formatted(value: Any) -> str:
    """Give a cell of a table as text: thousands apart, times without needless parts, NULL as a dash."""
    if pd.isna(value):
        return "–"
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d}" if value == value.normalize() else f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


# --- plots ----------------------------------------------------------------------------------------


def plot_batches(batches: list[Batch]) -> Figure:
    """Seconds and appended rows of each batch, the first (most of a year) left out."""
    days = batches[1:]
    figure = Figure(figsize=(9, 4.8))
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[1, 1.4])
    where = range(len(days))
    top.bar(where, [batch.seconds for batch in days], color=BLUE, width=0.72)
    top.set_ylabel("seconds")

    state = [batch.state_rows for batch in days]
    cancel = [batch.cancel_rows for batch in days]
    both = [batch.state_rows + batch.cancel_rows for batch in days]
    bottom.bar(where, state, color=BLUE, width=0.72, label="state rows (+1)")
    bottom.bar(where, cancel, bottom=state, color=ORANGE, width=0.72, label="cancel rows (−1)")
    tombstones = [batch.tombstones for batch in days]
    bottom.bar(where, tombstones, bottom=both, color=GREY, width=0.72, label="tombstones (0)")
    bottom.set_ylabel("rows appended")
    bottom.yaxis.set_major_formatter("{x:,.0f}")
    bottom.legend(ncols=3, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.1)

    bottom.set_xticks(where[::3], [batch.label[5:] for batch in days][::3])
    bottom.margins(x=0.01)
    figure.align_ylabels()
    for axes in (top, bottom):
        axes.grid(axis="x", visible=False)
    return figure


def plot_carriers(carriers: pd.DataFrame) -> Figure:
    """Mean delay on arrival and on departure, a line a carrier, the most punctual on top."""
    rows = carriers.sort_values("mean_arrival_delay", ascending=False)
    arrival, departure = rows["mean_arrival_delay"].astype(float), rows["mean_departure_delay"].astype(float)
    figure = Figure(figsize=(9, 0.33 * len(rows) + 1.1))
    axes = figure.subplots()
    where = range(len(rows))
    axes.barh(where, arrival, color=[ORANGE if delay > 0 else BLUE for delay in arrival], height=0.62)
    axes.scatter(departure, where, marker="D", s=22, color=INK, zorder=3, label="mean delay on departure")
    axes.set_yticks(where, rows["airline"])
    axes.axvline(0, color=MUTED, linewidth=0.8)
    axes.set_xlabel("minutes (bars: mean delay on arrival)")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.1)
    axes.grid(axis="y", visible=False)
    axes.margins(y=0.02)
    return figure


def plot_hours(hours: pd.DataFrame) -> Figure:
    """Departures and their mean delay by hour of the day, a line an airport."""
    figure = Figure(figsize=(9, 5))
    panels = figure.subplots(2, 1, sharex=True)
    for origin, rows in hours.sort_values("hour_of_day").groupby("origin"):
        name, colour = AIRPORTS.get(origin, (origin, GREY))
        for axes, column in zip(panels, ("flights_a_day", "mean_departure_delay"), strict=True):
            values = rows[column].astype(float)
            axes.plot(
                rows["hour_of_day"],
                values,
                color=colour,
                marker="o",
                markersize=3,
                label=f"{name} ({origin})",
            )
    panels[0].set_ylabel("departures a day")
    panels[0].legend(ncols=3, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.1)
    panels[0].set_ylim(bottom=0)
    panels[1].set_ylabel("minutes late")
    hour_ticks = range(int(hours["hour_of_day"].min()), int(hours["hour_of_day"].max()) + 1, 2)
    panels[1].set_xticks(hour_ticks, [f"{hour}:00" for hour in hour_ticks])
    figure.align_ylabels()
    return figure


def plot_routes(routes: pd.DataFrame) -> Figure:
    """Flights of the busiest routes, with the mean delay on arrival written beside."""
    rows = routes.iloc[::-1]
    where = range(len(rows))
    figure = Figure(figsize=(9, 0.32 * len(rows) + 1))
    axes = figure.subplots()
    bars = axes.barh(where, rows["flights"].astype(int), color=BLUE, height=0.66)
    axes.set_yticks(where, rows["origin"] + " to " + rows["dest"])
    late = [f"{float(delay):+.1f} min" for delay in rows["mean_arrival_delay"]]
    axes.bar_label(bars, late, padding=4, color=MUTED)
    axes.set_xlabel("flights in 2013 (beside: mean delay on arrival)")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.1, y=0.02)
    return figure


def inline_svg(name: str, title: str, draw: Callable[[], Figure]) -> str:
    """Draw a figure and give it as SVG for the body of a page: titled, no metadata, no addresses."""
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        buffer = io.StringIO()
        nothing = dict.fromkeys(["Creator", "Date", "Format", "Type"])
        draw().savefig(buffer, format="svg", transparent=True, metadata=nothing)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)  # HTML knows them
    svg = re.sub(r'\s(width|height)="[\d.]+pt"', "", svg, count=2)  # the page decides
    # Several drawings share one page: keep their ids apart.
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(href="|url\()#', rf"\1#{name}-", svg)
    label = f'role="img" aria-labelledby="{name}-title"><title id="{name}-title">{html.escape(title)}</title>'
    return svg.replace(">", f" {label}", 1)


# --- page -----------------------------------------------------------------------------------------


def html_table(frame: pd.DataFrame, caption: str = "") -> str:
    """Give a DataFrame as an HTML table; columns of numbers to the right."""
    kinds = [' class="number"' if is_numeric(frame[name]) else "" for name in frame]

    def row(opening: str, closing: str, texts: list[str]) -> str:
        cells = zip(kinds, map(html.escape, texts), strict=True)
        return "<tr>" + "".join(f"<{opening}{kind}>{text}</{closing}>" for kind, text in cells) + "</tr>\n"

    head = row('th scope="col"', "th", [str(name).replace("_", " ") for name in frame])
    body = [row("td", "td", [formatted(cell) for cell in cells]) for cells in frame.itertuples(index=False)]
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    table = f"<table>{title}<thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"
    return f'<div class="scroll">{table}</div>\n'


def is_numeric(column: pd.Series) -> bool:
    """Tell whether a column holds numbers; decimals come from Spark as objects."""
    kind = pd.api.types.infer_dtype(column, skipna=True)
    return kind in ("integer", "floating", "mixed-integer-float", "decimal")


def write_report(path: Path, found: Findings) -> None:
    """Write the page to ``path``, whole or not at all. OSError where the disk refuses."""
    first, days = found.batches[0], found.batches[1:]
    key_figures = {
        "flights in the source": found.stream["flights"],
        "events": found.stream["events"],
        "arrived late": found.stream["late_events"],
        "delivered again": found.stream["rows"] - found.stream["events"],
        "blocks (files)": sum(batch.blocks for batch in found.batches),
        "batches (dbt runs)": len(found.batches),
        "rows in the ledger": sum(batch.appended for batch in found.batches),
        "live flights": found.live_flights,
    }
    proofs = pd.DataFrame(
        [(p.name, p.shows, p.status, round(p.seconds, 1)) for p in found.proofs],
        columns=["test", "what it shows", "result", "seconds"],
    )
    page = Template(Path(__file__).with_name("report.html").read_text(encoding="utf-8")).substitute(
        first_events=f"{first.events:,}",
        first_seconds=f"{first.seconds:.0f}",
        days=len(days),
        typical_seconds=f"{statistics.median(batch.seconds for batch in days):.1f}",
        key_figures="".join(f"<div><dt>{name}</dt><dd>{count:,}</dd></div>" for name, count in key_figures.items()),
        passed=sum(proof.status == "pass" for proof in found.proofs),
        proofs=len(found.proofs),
        other_tests=found.other_tests,
        proof_table=html_table(proofs),
        batches=inline_svg("batches", "Seconds and rows appended, day by day", lambda: plot_batches(found.batches)),
        carriers=inline_svg("carriers", "Mean delays by carrier", lambda: plot_carriers(found.plots["carriers"])),
        hours=inline_svg("hours", "Departures and delay by hour", lambda: plot_hours(found.plots["hours"])),
        routes=inline_svg("routes", "Flights by route", lambda: plot_routes(found.plots["routes"])),
        mart_tables="".join(html_table(rows, f"{name}, first rows") for name, rows in found.marts.items()),
        seconds=f"{found.seconds:.0f}",
        versions=html.escape(found.versions),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(page, encoding="utf-8")
    os.replace(unfinished, path)
