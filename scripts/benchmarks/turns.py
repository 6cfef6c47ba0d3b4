"""Ways that take turns in one session, so that a noisy machine is as noisy for each, and print what they took."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from results import Comparison, Results

if TYPE_CHECKING:
    from session import Bench

Ways = dict[str, Callable[[], object]]


def compare(
    bench: Bench,
    results: Results,
    title: str,
    ways: Ways,
    *,
    base: str = "",
    ours: str = "",
    rounds: int = 0,
    warm_up: int = 1,
    before: Callable[[], None] | None = None,
    after: Callable[[], None] | None = None,
    same_answer: bool = True,
) -> Comparison:
    """Let ways take turns, print what they took, and add it to the results.

    base         the way that the others are divided by; the last one if none is named
    ours         the package's way, if the others are its peers
    rounds       how many are measured, after those that warm up; as many as the setting says if none are named
    before       what each round begins with, and `after` what it ends with; neither is measured
    same_answer  whether what the ways return must be equal: RuntimeError where it is not, before its time counts
    """
    base, rounds = base or list(ways)[-1], rounds or results.setting["rounds"]
    costs: dict[str, dict[str, list[float]]] = {name: {} for name in ways}
    meter = bench.meter()
    for number in range(warm_up + rounds):
        if before:
            before()
        answers, used = {}, {}
        first = number % len(ways)  # each way begins in its turn
        for name, way in [*ways.items()][first:] + [*ways.items()][:first]:
            meter.begin()
            answers[name] = way()
            used[name] = meter.end()
        if after:
            after()
        if same_answer and any(answer != answers[base] for answer in answers.values()):
            raise RuntimeError(f"{title}: the answers differ: {answers}")
        for name, values in used.items() if number >= warm_up else ():
            for cost, value in values.items():
                costs[name].setdefault(cost, []).append(value)
    comparison = Comparison(title, base, costs, ours)
    results.comparisons.append(comparison)
    bench.console.print(shown(comparison))
    return comparison


def shown(comparison: Comparison) -> Table:
    """Return a comparison as a table for the terminal."""
    table = Table(box=box.SIMPLE_HEAD, title=comparison.heading, title_justify="left", title_style="bold")
    headings, *rows = comparison.table()
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left")
    for row in rows:
        table.add_row(*row)
    return table


def shown_parts(parts: dict[str, list[float]], rounds: int) -> Table:
    """Return the statements of the package's runs as a table for the terminal."""
    table = Table(box=box.SIMPLE_HEAD, title="The package's statements", title_justify="left", title_style="bold")
    for column in ("", "a run", "seconds a run", "median of one"):
        table.add_column(column, justify="right" if column else "left")
    for statement, seconds in parts.items():
        per_run = (f"{len(seconds) / rounds:g}", f"{sum(seconds) / rounds:.2f}", f"{statistics.median(seconds):.2f}")
        table.add_row(statement, *per_run)
    return table
