"""Charts as SVG for the body of a page: no script, no font, colours from the page's own style sheet.

Each chart is drawn twice, for a wide and for a narrow screen, so that its letters keep their size. A colour is a CSS class
of pages.py: blue, orange, green, grey, purple, red.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDE, NARROW = 760, 372
LETTER = 6.6  # width of a letter of 12 px, about


@dataclass
class Series:
    """A named list of numbers, one per label, in one colour."""

    name: str
    colour: str
    values: Sequence[float]


def figure(title: str, draw: Callable[[int], str]) -> str:
    """Draw a chart for both widths of screen. ``draw`` takes a width and gives what is inside the SVG, and its height."""
    drawn = []
    for width, where in ((WIDE, "wide"), (NARROW, "narrow")):
        body, height = draw(width)
        drawn.append(
            f'<svg class="{where}" viewBox="0 0 {width} {height:.0f}" role="img"><title>{escape(title)}</title>{body}</svg>'
        )
    return f"<figure>{''.join(drawn)}</figure>"


def legend(series: Sequence[Series]) -> str:
    """Name the colours of a chart that are seen in it."""
    items = "".join(
        f'<li><i class="{one.colour}"></i>{escape(one.name)}</li>'
        for one in series
        if any(abs(value) > 0 for value in one.values)
    )
    return f'<ul class="legend">{items}</ul>'


def stacked_bars(labels: Sequence[str], series: Sequence[Series], unit: str, height: int = 190) -> Callable[[int], tuple]:
    """Return a drawing of a bar per label, in which the series stand upon each other."""

    def draw(width: int) -> tuple[str, float]:
        top = max((sum(values) for values in zip(*(one.values for one in series), strict=True)), default=0)
        frame = Frame(width, height, top, unit)
        step = frame.inner / max(len(labels), 1)
        parts = [frame.grid()]
        for place, label in enumerate(labels):
            below = 0.0
            for one in series:
                value = one.values[place]
                if value:
                    high, low = frame.y(below + value), frame.y(below)
                    parts.append(
                        f'<rect class="{one.colour}" x="{frame.left + place * step + step * 0.12:.1f}" y="{high:.1f}" '
                        f'width="{max(step * 0.76, 0.8):.1f}" height="{max(low - high, 0.6):.1f}">'
                        f"<title>{escape(label)}: {escape(one.name)} {short(value)}</title></rect>"
                    )
                    below += value
        parts.append(frame.names_below(labels, step))
        return "".join(parts), frame.height

    return draw


def lines(labels: Sequence[str], series: Sequence[Series], unit: str, height: int = 190) -> Callable[[int], tuple]:
    """Return a drawing of a line per series, without the places where it is NaN."""

    def draw(width: int) -> tuple[str, float]:
        values = [value for one in series for value in one.values if not math.isnan(value)]
        frame = Frame(width, height, max(values, default=0), unit, min([*values, 0]))
        step = frame.inner / max(len(labels), 1)
        parts = [frame.grid()]
        for one in series:
            points = [
                (frame.left + (place + 0.5) * step, frame.y(value), label, value)
                for place, (label, value) in enumerate(zip(labels, one.values, strict=True))
                if not math.isnan(value)
            ]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points)
            parts.append(f'<polyline class="{one.colour} line" points="{path}"/>')
            parts += [
                f'<circle class="{one.colour}" cx="{x:.1f}" cy="{y:.1f}" r="2.4"><title>{escape(label)}: {escape(one.name)} '
                f"{short(value)}</title></circle>"
                for x, y, label, value in points
            ]
        parts.append(frame.names_below(labels, step))
        return "".join(parts), frame.height

    return draw


def rows_of_bars(labels: Sequence[str], series: Sequence[Series], notes: Sequence[str]) -> Callable[[int], tuple]:
    """Return a drawing of a horizontal bar per label, in which the series follow each other, with a note at its end."""

    def draw(width: int) -> tuple[str, float]:
        left = max((len(label) for label in labels), default=0) * LETTER + 14
        right = max((len(note) for note in notes), default=0) * LETTER + 10
        if (
            left > width * 0.36 or left + right > width * 0.72
        ):  # no room for labels and notes beside the bars: they stand above them
            return _stacked_rows(labels, series, notes, width)
        top = max((sum(abs(one.values[place]) for one in series) for place in range(len(labels))), default=0) or 1
        scale, parts = (width - left - right) / top, []
        for place, (label, note) in enumerate(zip(labels, notes, strict=True)):
            y = 6 + place * 26
            parts.append(f'<text class="name" x="{left - 8:.0f}" y="{y + 13}" text-anchor="end">{escape(label)}</text>')
            parts.append(_bar(series, place, left, y, scale))
            end = left + sum(abs(one.values[place]) for one in series) * scale
            parts.append(f'<text x="{end + 6:.1f}" y="{y + 13}">{escape(note)}</text>')
        return "".join(parts), 10 + 26 * len(labels)

    return draw


def _stacked_rows(labels: Sequence[str], series: Sequence[Series], notes: Sequence[str], width: int) -> tuple[str, float]:
    top = max((sum(abs(one.values[place]) for one in series) for place in range(len(labels))), default=0) or 1
    parts = []
    for place, (label, note) in enumerate(zip(labels, notes, strict=True)):
        y = place * 44
        parts.append(f'<text class="name" x="0" y="{y + 13}">{escape(label)}</text>')
        parts.append(f'<text x="{width}" y="{y + 13}" text-anchor="end">{escape(note)}</text>')
        parts.append(_bar(series, place, 0, y + 19, width / top))
    return "".join(parts), 44 * len(labels) + 2


def _bar(series: Sequence[Series], place: int, x: float, y: float, scale: float) -> str:
    parts = []
    for one in series:
        length = abs(one.values[place]) * scale
        if length:
            parts.append(
                f'<rect class="{one.colour}" x="{x:.1f}" y="{y}" width="{max(length, 0.8):.1f}" height="17">'
                f"<title>{escape(one.name)}: {short(one.values[place])}</title></rect>"
            )
        x += length
    return "".join(parts)


class Frame:
    """The axes of a chart of a given width: from ``low`` to ``top`` upwards."""

    def __init__(self, width: int, inner_height: int, top: float, unit: str, low: float = 0) -> None:
        self.ticks = nice_ticks(low, top)
        self.names = [short(tick, max(map(abs, self.ticks))) for tick in self.ticks]
        self.unit, self.above, self.inner_height = unit, 22, inner_height
        self.left = max(map(len, self.names)) * LETTER + 10
        self.width, self.inner = width, width - self.left - 4
        self.height = self.above + inner_height + 24

    def y(self, value: float) -> float:
        """Return the height at which a value stands."""
        low, high = self.ticks[0], self.ticks[-1]
        return self.above + self.inner_height * (1 - (value - low) / (high - low))

    def grid(self) -> str:
        """Draw the lines of the ticks, their numbers, and the unit."""
        parts = [f'<text x="0" y="11">{escape(self.unit)}</text>']
        for tick, name in zip(self.ticks, self.names, strict=True):
            y = self.y(tick)
            parts.append(f'<line x1="{self.left:.1f}" y1="{y:.1f}" x2="{self.width}" y2="{y:.1f}"/>')
            parts.append(f'<text x="{self.left - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{name}</text>')
        return "".join(parts)

    def names_below(self, labels: Sequence[str], step: float) -> str:
        """Write as many labels under the bars as there is room for."""
        longest = max((len(label) for label in labels), default=1) * LETTER + 10
        every = max(math.ceil(longest / step), 1) if step else 1
        y = self.height - 6
        return "".join(
            f'<text x="{min(self.left + (place + 0.5) * step, self.width - longest / 2 + 5):.1f}" y="{y}" text-anchor="middle">'
            f"{escape(labels[place])}</text>"
            for place in range(0, len(labels), every)
        )


def nice_ticks(low: float, top: float) -> list[float]:
    """Return three to six round numbers that hold everything from ``low`` to ``top``."""
    span = (top - low) or 1
    raw = span / 4
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw)
    first, last = math.floor(low / step), math.ceil(top / step)
    return [place * step for place in range(first, max(last, first + 1) + 1)]


def short(number: float, greatest: float | None = None) -> str:
    """Return a number in few letters: 1.2 M, 35 k, 0.25; in the unit that suits ``greatest``, if it stands beside that number."""
    if not number:
        return "0"
    scale = abs(number if greatest is None else greatest)
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if scale >= size * (0.9995 if size > 1e3 else 10):  # 999,500 is 1 M and not 1e+03 k
            return f"{number / size:.3g}{letter}"
    return f"{number:,.0f}" if abs(number) >= 100 or number == int(number) else f"{number:.3g}"
