"""The events that most measures fold: rows of several columns, drawn from seeds, so that each run of the bench has the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session import Bench

GROUPS = ("dim1", "dim2", "kind")  # of 100, 1,000 and 7 values: what the projections are grouped by
COLUMNS = (
    "id bigint, version bigint, dim1 string, dim2 int, kind string, metric1 bigint, metric2 double, payload string, "
    "is_deleted boolean, load string"
)
EVENT = """
    select
        id, {version}L as version, concat('d', pmod(xxhash64(id, {seed}), 100)) as dim1,
        cast(pmod(xxhash64(id), 1000) as int) as dim2, concat('k', pmod(id, 7)) as kind,
        pmod(xxhash64(id, {seed}), 100000) as metric1, pmod(xxhash64({seed}, id), 1000) / 8 as metric2,
        substr(concat(md5(cast(id as string)), md5(cast({seed} as string))), 1, 40) as payload,
        pmod(xxhash64(id, {seed}, 1), 100) < {deletes} as is_deleted, '{load}' as load
    from {drawn}
"""


class Stream:
    """A table of events, one partition for each load: first all keys once, then batches of changed keys.

    Parameters
    ----------
    keys, batch : int
        The keys of the first load, and those of a batch.
    order : str
        random: a batch's keys come from all over; time: nine of ten are new, the others among the newest tenth; late: as time,
        but ten keys come from all over.
    deletes : int
        How many events of a hundred in a batch are deletes.

    `least` is the least key of the newest batch where keys are in the order of time: a merge need not read lower ones.
    """

    def __init__(
        self, bench: Bench, keys: int, batch: int, order: str = "random", deletes: int = 0, table: str = "events"
    ) -> None:
        self._bench, self.table = bench, table
        self.keys, self.batch, self.order, self.deletes = keys, batch, order, deletes
        self.landed, self.least = 0, None
        bench.sql(f"create table {table} ({COLUMNS}) using parquet partitioned by (load)")

    @property
    def load(self) -> str:
        """The name of the newest load."""
        return f"l{self.landed:04}"

    def land(self) -> str:
        """Add the next load; returns its name."""
        self.landed += 1
        drawn, deletes = (f"range({self.keys})", 0) if self.landed == 1 else (self._drawn(), self.deletes)
        event = EVENT.format(version=self.landed, seed=self.landed, deletes=deletes, load=self.load, drawn=drawn)
        self._bench.sql(f"insert into {self.table} {event}")
        if self.order == "time" and self.landed > 1:
            self.least = self._bench.sql(f"select min(id) from {self.table} where load = '{self.load}'")[0][0]
        return self.load

    @property
    def folder(self) -> Path:
        """The folder with the files of the newest load."""
        return self._bench.folder_of(self.table) / f"load={self.load}"

    def _drawn(self) -> str:
        """Return what can stand behind `from` for the ids of a batch."""
        if self.order == "random":
            return f"(select distinct pmod(xxhash64(id, {self.landed}), {self.keys}) as id from range({self.batch}))"
        new = self.batch * 9 // 10
        first = self.keys + (self.landed - 2) * new
        oldest = f"{first} - 1 - pmod(xxhash64(id, {self.landed}), greatest({self.keys // 10}, 1))"
        drawn = f"select id from range({first}, {first + new}) union all select distinct {oldest} from range({self.batch - new})"
        if self.order == "late":
            drawn += f" union select distinct pmod(xxhash64(id, {self.landed}, 2), {first}) from range(10)"
        return f"({drawn})"
