"""Deaths of a dbt command: before one of its statements, as a kill would end it."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator

from support.dbt_project import statement_of


class Died(Exception):
    """The run is dead: no statement of it reaches Spark any more."""


class Failpoint:
    """Ends a dbt command before a statement of a node, as a kill would: nothing that comes after it is executed.

    Parameters
    ----------
    nodes : tuple of str
        The names of the nodes that die; the others go on. An operation is named macro_optimize or macro_undo.
    begins : str
        How the statement begins; `{}` stands for the node's name.
    place : int
        Which of the statements that begin so, 1 for the first.
    """

    def __init__(self, nodes: tuple[str, ...], begins: str, place: int) -> None:
        self._nodes, self._begins, self._place = nodes, begins, place
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.died: set[str] = set()

    def __call__(self, event) -> None:
        """Take an event of dbt's; raises Died in the thread that is about to execute the statement."""
        statement = statement_of(event)
        if statement is None:
            return
        name = event.data.conn_name.split(".")[-1]
        if name not in self._nodes:
            return
        with self._lock:
            if statement.startswith(self._begins.format(name)):
                self._seen[name] += 1
            if name in self.died or self._seen[name] >= self._place:
                self.died.add(name)
                raise Died(f"{name}: {statement[:60]}")


def deaths(act: Callable[[Failpoint], object], nodes: tuple[str, ...], begins: str, every: bool) -> Iterator[None]:
    """Let an act die, and yield after each death: before the statement that begins so, or one time after the other before each.

    The last time, then, it comes to its end.
    """
    for place in itertools.count(1) if every else [1]:
        failpoint = Failpoint(nodes, "" if every else begins, place)
        act(failpoint)
        if every and not failpoint.died:
            assert place > 2, "it should have executed some statements"
            return
        assert every or failpoint.died == set(nodes)
        yield
