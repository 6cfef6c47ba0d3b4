"""The figures of a measure: kept as JSON, and shown as tables. Nothing here needs Spark."""

from __future__ import annotations

import itertools
import json
import re
import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

EVEN = 0.05  # a ratio that differs from 1 by no more is even: rounds of one way differ by more
COSTS = ("CPU seconds", "MB written", "rows read", "files read", "peak MB", "files of its batch")
HEADINGS = ("", "least, s", "median, s", "most, s", "ratio", "the package", "CPU, s", *COSTS[1:])


@dataclass
class Comparison:
    """What ways to one answer took.

    Parameters
    ----------
    title : str
        What the ways do.
    base : str
        The way that the others are divided by.
    ways : dict
        {way: {cost: its value in each round}}; `seconds` is the one that is always there.
    ours : str
        The package's way, which has won or lost against each other one; none where all ways are the package's.
    """

    title: str
    base: str
    ways: dict[str, dict[str, list[float]]]
    ours: str = ""

    @property
    def rounds(self) -> int:
        """How many rounds were measured."""
        return len(next(iter(self.ways.values()))["seconds"])

    @property
    def heading(self) -> str:
        """The title of a table."""
        return f"{self.title}, {self.rounds} round{'s' * (self.rounds != 1)}; ratio to {self.base}"

    def ratio(self, way: str, base: str = "") -> float:
        """Return the median of what a way took in each round, divided by what the base took in the same round."""
        pairs = zip(self.ways[way]["seconds"], self.ways[base or self.base]["seconds"], strict=True)
        return statistics.median(seconds / base for seconds, base in pairs)

    def verdict(self, way: str) -> str:
        """Tell whether the package won or lost against a way; nothing for its own."""
        if way == self.ours or not self.ours:
            return ""
        ratio = self.ratio(way, self.ours)
        return "won" if ratio > 1 + EVEN else "lost" if ratio < 1 - EVEN else "even"

    def rows(self) -> Iterator[list[str]]:
        """Return a row of cells for each way: seconds, ratio, and the median of each cost."""
        for way, costs in self.ways.items():
            seconds = costs["seconds"]
            cells = [way, *map(in_seconds, (min(seconds), statistics.median(seconds), max(seconds)))]
            yield [*cells, f"{self.ratio(way):.2f}", self.verdict(way), *(_cell(costs.get(cost)) for cost in COSTS)]

    def table(self) -> list[list[str]]:
        """Return the headings and the rows, without columns in which nothing stands."""
        rows = list(self.rows())
        shown = [place for place in range(len(HEADINGS)) if place < 5 or any(row[place] for row in rows)]
        return [[row[place] for place in shown] for row in (HEADINGS, *rows)]


@dataclass
class Results:
    """All comparisons of one measure, with what they were made with.

    Parameters
    ----------
    measure, target : str
        Which measure, on which format of tables.
    setting : dict
        The options that the measure was started with: scale, sizes, and whatever else it takes; and `run`, if it is unfinished.
    machine : dict
        What it ran on, and when.
    comparisons : list
        In the order in which they are shown.
    parts : dict
        {statement: its seconds in each round}: where the seconds of the package's runs go.
    """

    measure: str
    target: str
    setting: dict[str, Any]
    machine: dict[str, Any]
    comparisons: list[Comparison] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the files: the measure, the target and the setting."""
        return "-".join([self.measure, self.target, *(str(value) for value in self.setting.values())])

    def add_parts(self, runs: list[list[tuple[str, float]]]) -> None:
        """Add the statements of runs, each with its seconds."""
        for statement, seconds in itertools.chain.from_iterable(runs):
            self.parts.setdefault(statement, []).append(seconds)

    def write(self, folder: Path) -> Path:
        """Write the figures, a list of numbers a line; returns the path."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{self.name}.json"
        text = re.sub(r"\[[^\[\]{}\"]+\]", lambda numbers: " ".join(numbers[0].split()), json.dumps(asdict(self), indent=1))
        file.write_text(text + "\n", encoding="utf-8")
        return file

    @classmethod
    def read(cls, file: Path) -> Results:
        """Read figures that were written. ValueError where the file holds something else."""
        try:
            read = json.loads(file.read_text(encoding="utf-8"))
            read["comparisons"] = [Comparison(**one) for one in read["comparisons"]]
            return cls(**read)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{file} has no figures of scripts/bench: {error}") from error


def in_seconds(value: float) -> str:
    """Return seconds as text."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _cell(values: list[float] | None) -> str:
    """Return the median of a cost as text, or nothing where it was not measured."""
    if not values:
        return ""
    median = statistics.median(values)
    return f"{median:,.0f}" if median >= 100 else f"{median:.3g}"
