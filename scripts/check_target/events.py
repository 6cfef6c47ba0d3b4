"""Events for the ledgers of the check, and what they must come to, computed in Python."""

from __future__ import annotations

import random
from collections.abc import Iterable
from decimal import Decimal

TENANTS = ("north", "it's", "ü \\ $x")
COLUMNS = "id bigint, tenant string, version int, is_deleted boolean, amount decimal(20, 2), block string"
Event = tuple[int, str, int, bool, int]  # id, tenant, version, is_deleted, amount in cents


class Events:
    """A stream of blocks with updates, deletes, late rows and copies; the same one for the same number of blocks."""

    def __init__(self) -> None:
        self._random = random.Random(20)
        self._all: list[Event] = []
        self._versions: dict[tuple, int] = {}
        self.blocks = 0

    def next_block(self, rows: int = 40) -> str:
        """Make a block; returns the statement that stages it in {arrived}."""
        self.blocks += 1
        made: list[Event] = []
        for _ in range(rows):
            key = self._random.randrange(-6, 6), self._random.choice(TENANTS)
            self._versions[key] = version = self._versions.get(key, 0) + 1
            made.append((*key, version, self._random.random() < 0.2, self._random.randrange(-999, 999)))
        late = [made.pop(self._random.randrange(len(made))) for _ in range(5)] if self.blocks % 2 else []
        made += self._late if self.blocks > 1 else []
        self._late = late
        made += self._random.sample(self._all, min(5, len(self._all)))  # copies of earlier rows
        self._random.shuffle(made)
        self._all += made
        values = ", ".join(
            f"({id}, {self._text(tenant)}, {version}, {str(deleted).lower()}, {amount / 100:.2f}, '{self.token}')"
            for id, tenant, version, deleted, amount in made
        )
        return f"insert into {{arrived}} values {values}"

    @property
    def token(self) -> str:
        """The token of the newest block."""
        return f"block {self.blocks:03}"

    @staticmethod
    def _text(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def orders(self) -> list[list[str]]:
        """Return the live rows of the ledger `orders`: tenant, id, version, amount."""
        live = [event for event in self._last(self._all) if not event[3]]
        return sorted([tenant, str(id), str(version), f"{amount / 100:.2f}"] for id, tenant, version, _, amount in live)

    def sums(self) -> list[list[str]]:
        """Return the groups of the projection `sums`: tenant, number of rows, amount, newest version."""
        groups: dict[str, list[list[str]]] = {}
        for row in self.orders():
            groups.setdefault(row[0], []).append(row)
        return sorted(
            [tenant, str(len(rows)), str(sum(Decimal(row[3]) for row in rows)), str(max(int(row[2]) for row in rows))]
            for tenant, rows in groups.items()
        )

    def days(self) -> list[list[str]]:
        """Return the live rows of the ledger `days`: price, version, amount."""
        staged = [event for event in self._all if event[1] == TENANTS[0] and not event[3]]
        return sorted([f"{id / 4:.2f}", str(version), f"{amount / 100:.2f}"] for id, _, version, _, amount in self._last(staged))

    @staticmethod
    def _last(events: Iterable[Event]) -> list[Event]:
        """Return the event of each key that is the last by version."""
        last: dict[tuple, Event] = {}
        for event in events:
            if event[:2] not in last or event[2] > last[event[:2]][2]:
                last[event[:2]] = event
        return [*last.values()]
