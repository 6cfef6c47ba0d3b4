"""Reports as one HTML file that asks for nothing else: light and dark, wide and narrow."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

DATE = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?")
NUMBER = re.compile(r"[+-]?[\d,.]+( of [\d,]+)?|–|")

STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1f2933; --muted: #5a6875; --line: #e4e7eb; --paper: #fff; --wash: #f5f7fa;
  --blue: #2b6cb0; --orange: #dd7a1f; --green: #2f855a; --grey: #9aa5b1; --purple: #7a4fb5; --red: #c53030;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e4e7eb; --muted: #9fb0c0; --line: #354250; --paper: #1c242d; --wash: #12181f;
    --blue: #63a4e6; --orange: #f0a04b; --green: #5fbf8f; --grey: #6b7b8c; --purple: #b596e6; --red: #f07a7a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--wash); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main { max-width: 54rem; margin: 0 auto; padding: 2rem 1rem 3rem; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 .4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 0 0 .3rem; }
p { margin: .3rem 0 1rem; max-width: 44rem; }
.lead, .note { color: var(--muted); }
.note { font-size: .9rem; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 1.2rem 1.3rem; margin: 1rem 0; }
dl.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .7rem; margin: .6rem 0 0; }
dl.tiles div {
  border-left: 3px solid var(--blue); padding-left: .7rem;
  display: grid; grid-row: span 2; grid-template-rows: subgrid; row-gap: 0; /* figures of a row at one height */
}
dl.tiles div.warn { border-color: var(--red); }
dt { color: var(--muted); font-size: .85rem; }
dd { margin: 0; font-size: 1.3rem; font-weight: 600; font-variant-numeric: tabular-nums; }
dd small { display: block; font-size: .8rem; font-weight: 400; color: var(--muted); }
figure { margin: .4rem 0 1rem; }
svg { display: block; width: 100%; height: auto; overflow: visible; } /* widths of letters are estimates */
svg.narrow { display: none; }
svg text { font-size: 12px; fill: var(--muted); }
svg text.name { fill: var(--ink); }
svg line { stroke: var(--line); }
svg .line { fill: none; stroke-width: 2; }
rect.blue, circle.blue { fill: var(--blue); } rect.orange, circle.orange { fill: var(--orange); }
rect.green, circle.green { fill: var(--green); } rect.grey, circle.grey { fill: var(--grey); }
rect.purple, circle.purple { fill: var(--purple); } rect.red, circle.red { fill: var(--red); }
.line.blue { stroke: var(--blue); } .line.orange { stroke: var(--orange); } .line.green { stroke: var(--green); }
.line.grey { stroke: var(--grey); } .line.purple { stroke: var(--purple); } .line.red { stroke: var(--red); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: .2rem 0; padding: 0; font-size: .88rem; }
.legend i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; }
i.blue { background: var(--blue); } i.orange { background: var(--orange); } i.green { background: var(--green); }
i.grey { background: var(--grey); } i.purple { background: var(--purple); } i.red { background: var(--red); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
caption { text-align: left; font-weight: 600; padding: .8rem 0 .4rem; }
th, td { padding: .32rem .8rem .32rem 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--muted); font-weight: 600; }
td:last-child:not(.number) { min-width: 11rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.date { white-space: nowrap; }
td.wrong { color: var(--red); }
footer { color: var(--muted); font-size: .85rem; }
@media (max-width: 560px) {
  main { padding: 1.2rem .6rem 2rem; } section { padding: 1rem .8rem; } h1 { font-size: 1.5rem; }
  svg.wide { display: none; } svg.narrow { display: block; }
  dl.tiles { grid-template-columns: repeat(2, 1fr); }
  thead { display: none; } /* each cell has the name of its column */
  tr, td { display: block; } tr { border-bottom: 1px solid var(--line); padding: .4rem 0; }
  td, td.number { border: 0; padding: .1rem 0; text-align: left; overflow-wrap: anywhere; }
  td:first-child { font-weight: 600; } td:not(:first-child)::before { content: attr(data-column) ": "; color: var(--muted); }
}
@media print { body { background: none; } section { break-inside: avoid; } }
"""


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return a table; columns of numbers go to the right, and dates are kept on one line."""
    rows = [list(row) for row in rows]
    numeric = [bool(rows) and all(is_number(row[place]) for row in rows) for place in range(len(columns))]

    kinds = [" class=number" if right else "" for right in numeric]

    def cells(row: Sequence[object]) -> str:
        return "".join(
            f'<td{kind or date(value)} data-column="{escape(column)}">{escape(text(value))}</td>'
            for value, kind, column in zip(row, kinds, columns, strict=True)
        )

    head = "".join(f'<th scope="col"{kind}>{escape(column)}</th>' for kind, column in zip(kinds, columns, strict=True))
    body = "".join(f"<tr>{cells(row)}</tr>\n" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f'<div class="scroll"><table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>\n'


def is_number(value: object) -> bool:
    """Tell whether a cell goes to the right: a number, or nothing in its place."""
    return value is None or isinstance(value, int | float) or bool(NUMBER.fullmatch(str(value)))


def date(value: object) -> str:
    """Return the class of a cell that is a date, for one that is none nothing."""
    return " class=date" if DATE.fullmatch(str(value)) else ""


def text(value: object) -> str:
    """Return a cell as text: thousands apart, nothing as a dash."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def tiles(figures: Iterable[tuple]) -> str:
    """Return figures, (name, value, small print, whether it is a warning), as tiles."""
    parts = []
    for name, value, small, warns in figures:
        detail = f"<small>{escape(small)}</small>" if small else ""
        parts.append(f"<div{' class=warn' if warns else ''}><dt>{escape(name)}</dt><dd>{escape(text(value))}{detail}</dd></div>")
    return f'<dl class="tiles">{"".join(parts)}</dl>'


def section(heading: str, *parts: str) -> str:
    """Return a part of a page under its heading."""
    return f"<section><h2>{escape(heading)}</h2>{''.join(parts)}</section>\n"


def paragraph(words: str, kind: str = "") -> str:
    """Return a paragraph of plain words, however they are broken into lines."""
    return f"<p{f' class={kind}' if kind else ''}>{escape(' '.join(words.split()))}</p>"


def write_page(path: Path, title: str, lead: str, sections: Iterable[str], footer: str) -> None:
    """Write a page to ``path``, whole or not at all. OSError where the disk refuses."""
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<header><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p></header>
{"".join(sections)}<footer><p>{escape(footer)}</p></footer>
</main>
</body>
</html>
"""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(page, encoding="utf-8")
    os.replace(unfinished, path)
