"""Deaths of a run: before a statement of dbt's, as the cases of a test."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from support.dbt_project import statement_of


def case(begins: str, place: int = 1, only: tuple[str, ...] = (), full: bool = False):
    """Return a case named for how a statement begins.

    `only` names the targets whose runs have it, if not all have; `full` leaves it to the full run.
    """
    marks = [pytest.mark.only(*only)] * bool(only) + [pytest.mark.full] * full
    return pytest.param(begins, place, id=" ".join(begins.split()[:3]), marks=marks)


class Died(Exception):
    """The run is dead: no statement of it reaches Spark any more."""


class Failpoint:
    """Ends a run of dbt before a statement of a model, as a kill would: nothing that comes after it is executed.

    Parameters
    ----------
    models : tuple of str
        The models that die; the others go on.
    begins : str
        How the statement begins; `{}` stands for the model's name.
    place : int
        Which of the statements that begin so, 1 for the first.
    """

    def __init__(self, models: tuple[str, ...], begins: str, place: int) -> None:
        self._models, self._begins, self._place = models, begins, place
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.died: set[str] = set()

    def __call__(self, event) -> None:
        """Take an event of dbt's; raises Died in the thread that is about to execute the statement."""
        statement = statement_of(event)
        if statement is None:
            return
        name = event.data.conn_name.split(".")[-1]
        if name not in self._models:
            return
        with self._lock:
            if statement.startswith(self._begins.format(name)):
                self._seen[name] += 1
            if name in self.died or self._seen[name] >= self._place:
                self.died.add(name)
                raise Died(f"{name}: {statement[:60]}")
