"""ClickHouse's own scenarios (tests/python/scenarios), read as streams for the differential suite."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from support.clickhouse_streams import Row, Stream

FOLDER = Path(__file__).parents[1] / "scenarios"


@dataclass(frozen=True)
class Scenario:
    """A scenario of one engine: its blocks, and by (form, block) the rows that ClickHouse's sources say are left.

    Keys and payloads are texts there, and numbers here: `texts` gives {column: [text of number 0, 1, ...]}.
    """

    name: str
    stream: Stream
    expected: dict[tuple[str, int], Counter[tuple[str, ...]]]
    texts: dict[str, list[str]]

    def as_rows(self, rows: Counter[tuple[str | None, ...]], compared: list[str]) -> Counter[tuple[str, ...]]:
        """Return observed rows with the texts of the scenario in the place of its numbers."""
        found: Counter[tuple[str, ...]] = Counter()
        for row, count in rows.items():
            values = dict(zip(compared, row, strict=True))
            key, payload = self.texts["key"][int(values.pop("id"))], self.texts["payload"][int(values.pop("payload"))]
            found[(key, payload, *values.values())] += count
        return found


def read(engine: str, compared: list[str]) -> list[Scenario]:
    """Return the scenarios of an engine, their expected rows as (key, payload, then what else of `compared` there is)."""
    rest = [column for column in compared if column not in ("id", "payload")]
    blocks: dict[str, list[dict[str, str]]] = {}
    for line in _lines(f"{engine}_blocks"):
        blocks.setdefault(line["scenario"], []).append(line)
    expected: dict[str, dict[tuple[str, int], Counter]] = {name: {} for name in blocks}
    for name, lines in blocks.items():
        last = max(int(line["block"]) for line in lines)
        expected[name] |= {(form, last): Counter() for form in ("final", "optimized")}
    for line in _lines(f"{engine}_expected"):
        rows = expected[line["scenario"]].setdefault((line["form"], int(line["after_block"])), Counter())
        rows[(line["key"], line["payload"], *(line.get(column, "1") for column in rest))] += 1
    return [_scenario(name, lines, expected[name]) for name, lines in blocks.items()]


def _lines(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


def _scenario(name: str, lines: list[dict[str, str]], expected: dict) -> Scenario:
    texts = {column: list(dict.fromkeys(line[column] for line in lines)) for column in ("key", "payload")}
    stream: list[list[Row]] = [[] for _ in range(max(int(line["block"]) for line in lines))]
    for line in sorted(lines, key=lambda line: (int(line["block"]), int(line["position"]))):
        stream[int(line["block"]) - 1].append(
            Row(
                id=texts["key"].index(line["key"]),
                version=int(line.get("version", 1)),
                payload=texts["payload"].index(line["payload"]),
                sign=int(line.get("sign", 1)),
                is_deleted=int(line.get("is_deleted", 0)),
            )
        )
    return Scenario(name, tuple(map(tuple, stream)), expected, texts)
