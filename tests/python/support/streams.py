"""Streams of events that Hypothesis makes, and what promise 1 says of them: the one-shot answer in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st


@dataclass(frozen=True)
class Event:
    """One event of a stream: what the stage's row holds besides stream and block."""

    id: int
    version: int
    is_deleted: bool
    place: str | None
    amount: int | None
    price: Decimal | None


T = TypeVar("T")
Stream = list[list[Event]]  # blocks in the order they arrive, each a list of events in any order


@st.composite
def streams(draw: st.DrawFn, blocks: int) -> Stream:
    """Draw a stream of up to 3 keys: random versions and deletes, replays, any order, split into `blocks` blocks.

    Equal (key, version, is_deleted) always means an equal row: which of two different rows wins a tie depends on
    arrival by design, and has tests of its own.
    """
    kinds = draw(
        st.lists(
            st.tuples(st.integers(0, 2), st.integers(-2, 6), st.booleans() | st.just(False)),
            min_size=1,
            max_size=12,
        )
    )
    events = [_event(*kind) for kind in kinds]
    replayed = draw(st.lists(st.sampled_from(events), max_size=4))
    arriving = draw(st.permutations(events + replayed))
    cuts = sorted(draw(st.lists(st.integers(0, len(arriving)), min_size=blocks - 1, max_size=blocks - 1)))
    return [arriving[start:end] for start, end in zip([0, *cuts], [*cuts, len(arriving)], strict=True)]


def _event(id_: int, version: int, is_deleted: bool) -> Event:
    """Return the one row of a (key, version, is_deleted), NULLs among its values."""
    mixed = 7 * id_ + 3 * version + is_deleted
    return Event(
        id=id_,
        version=version,
        is_deleted=is_deleted,
        place=[None, "north", "south", ""][mixed % 4],
        amount=None if mixed % 5 == 0 else mixed - 4,
        price=None if mixed % 3 == 0 else Decimal(mixed).scaleb(-18) + mixed,
    )


def collect(strategy: st.SearchStrategy[T], count: int, random_seed: int) -> list[T]:
    """Return `count` examples of a strategy, the same for the same seed."""
    found: list[T] = []

    @seed(random_seed)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def keep(stream: T) -> None:
        found.append(stream)

    keep()
    return found


def one_shot(events: Iterable[Event]) -> dict[int, Event]:
    """Return the live rows by key: the event greatest by (version, delete after update), unless it is a delete."""
    last: dict[int, Event] = {}
    for event in events:
        seen = last.get(event.id)
        if seen is None or (event.version, event.is_deleted) > (seen.version, seen.is_deleted):
            last[event.id] = event
    return {key: event for key, event in last.items() if not event.is_deleted}


def unversioned(blocks: Stream) -> dict[int, Event]:
    """Return the live rows when deletes follow arrival: block by block, as the article's Example3 inserts them."""
    live: dict[int, Event] = {}
    for block in blocks:
        for key in {event.id for event in block}:
            upserts = [event for event in block if event.id == key and not event.is_deleted]
            if not upserts:
                live.pop(key, None)
                continue
            newest = max(upserts, key=lambda event: event.version)
            if key not in live or newest.version > live[key].version:
                live[key] = newest
    return live


def combined(blocks: Stream) -> dict[int, tuple[int | None, str | None]]:
    """Return (amount, place) by key when amounts keep their greatest value and places their last one that is not NULL.

    Inside a block events follow each other by (version, delete after update); one that is not newer is passed over.
    """
    last: dict[int, tuple[tuple[int, bool], int | None, str | None]] = {}
    for block in blocks:
        for event in sorted(block, key=lambda event: (event.version, event.is_deleted)):
            order = (event.version, event.is_deleted)
            seen = last.get(event.id)
            if seen is not None and order <= seen[0]:
                continue
            amount, place = event.amount, event.place
            if seen is not None and not seen[0][1] and not event.is_deleted:
                amount = max((value for value in (amount, seen[1]) if value is not None), default=None)
                place = seen[2] if place is None else place
            last[event.id] = (order, amount, place)
    return {key: (amount, place) for key, (order, amount, place) in last.items() if not order[1]}


def check_streams(rows: Callable[[str], list[tuple]], drawn: Sequence[Stream], blocks: int) -> None:
    """Compare what `rows` reads of live_events and live_places after the streams' first blocks with the one-shot answer."""
    live = [
        (place, event)
        for place, stream in enumerate(drawn)
        for event in one_shot(event for block in stream[:blocks] for event in block).values()
    ]
    expected = Counter((place, e.id, e.version, e.place, e.amount, e.price) for place, e in live)
    assert len(live) > len(drawn) / 2, "the streams should leave rows to compare"
    found = Counter(rows("select stream, id, version, place, amount, price from live_events"))
    assert found == expected, f"missing {expected - found}, extra {found - expected}"

    groups: dict[str | None, list] = {}
    for _, event in live:
        groups.setdefault(event.place, []).append(event)
    expected = Counter()
    for place, events in groups.items():
        amounts = [event.amount for event in events if event.amount is not None]
        prices = [event.price for event in events if event.price is not None]
        mean = sum(amounts) / len(amounts) if amounts else None
        price = sum(prices, Decimal(0)) if prices else None
        expected[(place, len(events), sum(amounts) if amounts else None, mean, price)] += 1
    found = Counter(rows("select place, n, total, mean, price from live_places"))
    assert found == expected, f"missing {expected - found}, extra {found - expected}"
