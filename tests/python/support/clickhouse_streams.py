"""Streams of rows for the differential suite: what Hypothesis makes for each engine, how a failing one is shrunk and printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st


@dataclass(frozen=True)
class Row:
    """One staged row of a stream. `sign` means nothing to replacing, `is_deleted` nothing to the others."""

    id: int
    version: int = 1
    payload: int | None = 0
    sign: int = 1
    is_deleted: int = 0


Stream = tuple[tuple[Row, ...], ...]  # blocks in the order they arrive, rows in their order inside the INSERT


def in_blocks(draw: st.DrawFn, rows: Sequence[Row], blocks: int) -> Stream:
    """Cut rows into blocks; returns every row a payload that tells it from the others, some of them NULL."""
    rows = [replace(row, payload=None if number % 7 == 5 else number) for number, row in enumerate(rows)]
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), min_size=blocks - 1, max_size=blocks - 1)))
    return tuple(tuple(rows[start:end]) for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True))


@st.composite
def signed(draw: st.DrawFn, blocks: int) -> Stream:
    """Draw signed rows of up to 2 keys and 2 versions with no regard to each other: most histories are inconsistent."""
    row = st.builds(Row, id=st.integers(0, 1), version=st.integers(1, 2), sign=st.sampled_from([1, -1]))
    return in_blocks(draw, draw(st.lists(row, min_size=1, max_size=14)), blocks)


@st.composite
def consistent(draw: st.DrawFn, blocks: int, in_order: bool) -> Stream:
    """Draw histories in which every state is cancelled once before the next one; in order, or shuffled."""
    histories = []
    for id_ in range(draw(st.integers(1, 2))):
        history, states = [], draw(st.integers(1, 4))
        for version in range(1, states + 1):
            history += [Row(id_, version, sign=1), Row(id_, version, sign=-1)]
        histories.append(history[: len(history) - draw(st.integers(0, 1))])
    rows: list[Row] = []
    while any(histories):
        history = draw(st.sampled_from([history for history in histories if history]))
        rows.append(history.pop(0))
    return in_blocks(draw, rows if in_order else draw(st.permutations(rows)), blocks)


@st.composite
def replacing(draw: st.DrawFn, blocks: int) -> Stream:
    """Draw rows with versions below and above 0, many ties, and deletes."""
    row = st.builds(Row, id=st.integers(0, 1), version=st.integers(-2, 2), is_deleted=st.sampled_from([0, 0, 1]))
    return in_blocks(draw, draw(st.lists(row, min_size=1, max_size=12)), blocks)


@st.composite
def events(draw: st.DrawFn, blocks: int, deletes: bool) -> Stream:
    """Draw events, replayed and in any order.

    Equal (key, version) in one block means an equal row: which of two different ones LIMIT 1 BY takes is not defined.
    """
    row = st.builds(Row, id=st.integers(0, 2), version=st.integers(1, 6), is_deleted=st.sampled_from([0, 0, int(deletes)]))
    stream = in_blocks(draw, draw(st.lists(row, min_size=1, max_size=12)), blocks)
    return tuple(
        tuple(replace(row, payload=100 * number + 10 * row.id + row.version) for row in block)
        for number, block in enumerate(stream)
    )


def strategies(blocks: int) -> dict[str, st.SearchStrategy[Stream]]:
    """Return how the streams of each kind are drawn, cut into some blocks."""
    return {
        "collapsing": signed(blocks) | consistent(blocks, in_order=True),
        "versioned_collapsing": signed(blocks) | consistent(blocks, in_order=False),
        "replacing": replacing(blocks),
        "replacing_last": replacing(blocks),
        "events": events(blocks, deletes=False),
        "unversioned_deletes": events(blocks, deletes=True),
    }


def shrink(stream: Stream, fails: Callable[[list[Stream]], list[bool]]) -> Stream:
    """Return a smallest stream that still fails: no row of it can be left out, no two neighbouring blocks can be joined.

    `fails` says of many streams at once which of them fail: one dbt run folds them all.
    """
    while True:
        candidates = list(dict.fromkeys(_simpler(stream)))
        verdicts = fails(candidates) if candidates else []
        failing = [candidate for candidate, fail in zip(candidates, verdicts, strict=True) if fail]
        if not failing:
            return stream
        stream = min(failing, key=lambda candidate: (sum(map(len, candidate)), len(candidate)))


def _simpler(stream: Stream) -> list[Stream]:
    """Return every stream that lacks one row or has two neighbouring blocks joined. Empty blocks are dropped."""
    full = tuple(block for block in stream if block)
    simpler = [full] if full != stream else []
    for number, block in enumerate(full):
        for place in range(len(block)):
            rest = block[:place] + block[place + 1 :]
            simpler.append(full[:number] + ((rest,) if rest else ()) + full[number + 1 :])
        if number:
            simpler.append(full[: number - 1] + (full[number - 1] + block,) + full[number + 1 :])
    return [candidate for candidate in simpler if candidate]


def block_table(stream: Stream) -> str:
    """Return a stream as the csv of an example's blocks: paste it into seeds/examples/<example>/<example>_blocks.csv."""
    lines = ["step,position,id,version,payload,sign,is_deleted"]
    for step, block in enumerate(stream, start=1):
        for position, row in enumerate(block, start=1):
            payload = "" if row.payload is None else row.payload
            lines.append(f"{step},{position},{row.id},{row.version},{payload},{row.sign},{row.is_deleted}")
    return "\n".join(lines) + "\n"
