"""Write the tables and pictures of docs/benchmarks.md: run by `scripts/bench page [FILE ...]`.

The files are first copied to scripts/benchmarks/results, where one of the same measure, target and setting is replaced. The
page has a pair of marks for each measure, `<!-- bench: final -->` and `<!-- end of final -->`, and one for `summary`. What
stands between them comes from the files in that folder; the rest of the page is written by hand and stays.
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from results import Comparison, Results, in_seconds

KEPT = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
PICTURES = PAGE.parent / "assets" / "benchmarks"
MARKED = re.compile(r"(?P<begin><!-- bench: (?P<name>[a-z-]+) -->\n).*?(?P<end><!-- end of (?P=name) -->)", re.DOTALL)
FORMATS = {"parquet": "plain parquet", "delta": "Delta", "iceberg": "Iceberg"}
HEADINGS = ("measured", "format", "this", "seconds", "beside", "seconds", "ratio (rounds)", "the package")
# A picture has no style sheet of the page: what it needs, light and dark.
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #5a6875; } line { stroke: #5a6875; }
rect.won { fill: #2b6cb0; } rect.even { fill: #8a97a5; } rect.lost { fill: #dd6b20; }
@media (prefers-color-scheme: dark) { text { fill: #9fb0c0; } line { stroke: #9fb0c0; } rect.won { fill: #63a4e6; } }
"""
VERDICTS = ("won", "even", "lost")
WIDE, HIGH = 760, 58  # of a picture, and of a row in it


@dataclass
class Row:
    """One way beside another: what a table says of them in a line, and a picture in a bar."""

    title: str
    format: str
    way: str
    beside: str
    seconds: tuple[str, str]
    ratio: float | None
    note: str
    rounds: int

    @property
    def cells(self) -> list[str]:
        """Return the cells of the table."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f} ({self.rounds})"
        note = self.note.replace("lost", "**lost**")
        return [self.title, self.format, self.way, self.seconds[0], self.beside, self.seconds[1], ratio, note]


def rows(results: Sequence[Results]) -> list[Row]:
    """Return the rows of a measure: those of one title stand together, first plain parquet. Parts of a day are left out."""
    found = [
        row
        for one in sorted(results, key=lambda one: (one.setting.get("rows", 0), one.name))
        for comparison in one.comparisons
        if not comparison.title.startswith("Of it ")
        for row in _of_comparison(one, comparison)
    ]
    titles, formats = list(dict.fromkeys(row.title for row in found)), list(FORMATS.values())
    return sorted(found, key=lambda row: (titles.index(row.title), formats.index(row.format)))


def _of_comparison(one: Results, comparison: Comparison) -> list[Row]:
    base = comparison.ours or comparison.base
    partitions = one.setting.get("partitions")
    title = comparison.title + (f", {partitions} shuffle partitions" if partitions else "")
    others = [way for way in comparison.ways if way != base]
    made = [
        Row(
            title,
            FORMATS[one.target],
            way,
            base,
            (_seconds(comparison, way), _seconds(comparison, base)),
            comparison.ratio(way, base),
            comparison.verdict(way) or _counted(comparison, (way, base), "files of its batch"),
            comparison.rounds,
        )
        for way in others
    ]
    if not others:  # alone: its memory is its own
        memory = _counted(comparison, [base], "peak MB")
        made.append(Row(title, FORMATS[one.target], base, "", (_seconds(comparison, base), ""), None, memory, comparison.rounds))
    return made


def _seconds(comparison: Comparison, way: str) -> str:
    """Return the median of a way's seconds, and the least."""
    seconds = comparison.ways[way]["seconds"]
    return f"{in_seconds(statistics.median(seconds))} ({in_seconds(min(seconds))})"


def _counted(comparison: Comparison, ways: Sequence[str], cost: str) -> str:
    """Return the medians of a cost, if it was counted."""
    counted = [f"{statistics.median(comparison.ways[way][cost]):,.0f}" for way in ways if cost in comparison.ways[way]]
    return f"{cost}: {', '.join(counted)}" if counted else ""


def table(shown: Sequence[Row]) -> str:
    """Return rows as a table for the page; a title stands in the first of its rows."""
    lines = [list(HEADINGS), ["---", "---", "---", "--:", "---", "--:", "--:", "---"]]
    before = ""
    for row in shown:
        lines.append(["" if row.title == before else row.title, *row.cells[1:]])
        before = row.title
    return "\n".join(f"|{'|'.join(cell.replace('|', '&#124;') for cell in cells)}|" for cells in lines)


def picture(name: str, shown: Sequence[Row]) -> str:
    """Draw the ratios of rows as bars from the middle, to the right where what a row stands beside was faster."""
    widest = max(1.0, *(abs(math.log2(row.ratio)) for row in shown))
    middle, height, parts = WIDE / 2, HIGH * len(shown), []
    for place, row in enumerate(shown):
        y, length = place * HIGH, math.log2(row.ratio) / widest * (WIDE / 2 - 50)
        end, anchor = (middle + length + 5, "start") if length >= 0 else (middle + length - 5, "end")
        x, width = min(middle, middle + length), max(abs(length), 1)
        ways = escape(f"{row.format}: {row.way}, beside {row.beside}")
        parts += [
            f'<text x="0" y="{y + 12}">{escape(row.title)}</text>',
            f'<text x="0" y="{y + 27}">{ways}</text>',
            f'<rect class="{row.note}" x="{x:.1f}" y="{y + 32}" width="{width:.1f}" height="14"/>',
            f'<text x="{end:.1f}" y="{y + 43}" text-anchor="{anchor}">{row.ratio:.2f}</text>',
            f'<line x1="{middle}" x2="{middle}" y1="{y + 30}" y2="{y + 48}"/>',
        ]
    opened = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {height}" role="img">'
    return f"{opened}<title>{escape(name)}: ratios</title><style>{STYLE}</style>{''.join(parts)}</svg>\n"


def summary(results: Sequence[Results]) -> str:
    """Say on what the figures were made, and how many comparisons were won and lost."""
    ran = "{cores} cores, {memory}, {system}, Spark {Spark}, Java {Java}"
    machines: dict[str, set[str]] = {}
    for one in results:
        machines.setdefault(ran.format(**one.machine), set()).add(one.machine["driver"])
    memory = {machine: ", ".join(sorted(sorted(driver), key=len)) for machine, driver in machines.items()}
    told = "; ".join(f"{machine}; memory of the driver: {drivers}" for machine, drivers in memory.items())
    dates = sorted({one.machine["date"] for one in results})
    notes = [row.note for one in results for row in rows([one])]
    counted = ", ".join(f"{notes.count(verdict)} {verdict}" for verdict in ("won", "even", "lost"))
    return f"{' to '.join(dict.fromkeys((dates[0], dates[-1])))}. {told}. Comparisons with others: {counted}."


def filled(text: str, results: Sequence[Results]) -> tuple[str, dict[str, str]]:
    """Return the page with the figures in it, and its pictures by name. ValueError where it has no marks for a measure."""
    measures: dict[str, list[Results]] = {}
    for one in results:
        measures.setdefault(one.measure, []).append(one)
    marks = [mark["name"] for mark in MARKED.finditer(text)]
    unknown = sorted(set(measures) - set(marks))
    if unknown:
        raise ValueError(f"the page has no marks for {', '.join(unknown)}; it has them for {', '.join(marks)}")
    texts, pictures = {"summary": summary(results)} if results else {}, {}
    for name, of_measure in measures.items():
        shown = rows(of_measure)
        drawn = [row for row in shown if row.note in VERDICTS]  # others are the package beside itself
        texts[name] = table(shown)
        if drawn:
            pictures[name] = picture(name, drawn)
            texts[name] = f"![Ratios of {name}](assets/benchmarks/{name}.svg)\n\n{texts[name]}"

    def replaced(mark: re.Match[str]) -> str:
        figures = texts.get(mark["name"])
        return f"{mark['begin']}\n{figures}\n\n{mark['end']}" if figures else mark["begin"] + mark["end"]

    return MARKED.sub(replaced, text), pictures


def kept() -> list[Results]:
    """Return the figures that are kept for the page."""
    return [Results.read(file) for file in sorted(KEPT.glob("*.json"))]


def keep(file: Path) -> None:
    """Copy figures to those of the page. ValueError where they are not for a page."""
    one = Results.read(file)
    if one.setting.get("scale") == "smoke":
        raise ValueError(f"the figures of {one.name} are those of --scale smoke, which mean nothing: they are not for a page")
    if one.setting.get("run") == "unfinished":
        raise ValueError(f"the figures of {one.name} are those of a run that did not come to its end: they are not for a page")
    one.write(KEPT)


def main() -> None:
    """Keep the files, and write page and pictures."""
    parser = argparse.ArgumentParser(prog="scripts/bench page", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="JSON that scripts/bench has written")
    given = parser.parse_args()
    try:
        for file in given.files:
            keep(file)
        results = kept()
        text, pictures = filled(PAGE.read_text(encoding="utf-8"), results)
    except (OSError, ValueError) as error:
        sys.exit(f"[bench] {error}")
    PAGE.write_text(text, encoding="utf-8")
    for file in PICTURES.glob("*.svg"):
        file.unlink()
    for name, drawing in pictures.items():
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / f"{name}.svg").write_text(drawing, encoding="utf-8")
    print(f"[bench] {PAGE}: figures of {len(results)} file{'s' * (len(results) != 1)}")


if __name__ == "__main__":
    main()
