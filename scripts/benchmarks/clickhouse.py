"""ClickHouse in this process (chdb), which keeps the rows and the sums of the same events in the way of the first seed's text."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from chdb.session import Session

# As in the text: a stage that keeps nothing, a materialized view that looks the old rows up, and a projection for each sum.
COLUMNS = (
    "id Int64, version UInt64, dim1 String, dim2 Int32, kind String, metric1 Int64, metric2 Float64, payload String, "
    "sign Int8 default 1"
)
PROJECTION = "projection by_{0} (select {0}, sum(sign), sum(metric1 * sign), sum(metric2 * sign) group by {0})"
CARRIED = ("version", "dim1", "dim2", "kind", "metric1", "metric2", "payload")
TRANSFORM = """
    create materialized view transform to folded as
    with
        __new as (select * from stage order by sign desc, version desc limit 1 by id),
        __old as (
            select *, arrayJoin([-1, 1]) as _sign
            from (select * from folded final prewhere id in (select id from __new) where sign = 1)
        )
    select
        id,
        {carried},
        if(__old._sign = -1, -1, 1) as sign
    from __new
    left join __old using id
    where if(__new.sign = -1, __old._sign = -1, __new.version > __old.version)
"""
EVENTS = "select id, version, dim1, dim2, kind, metric1, metric2, payload, if(is_deleted, -1, 1) as sign from file('{}', Parquet)"
COUNTERS = {
    "WriteBufferFromFileDescriptorWriteBytes": ("MB written", 1e-6),
    "SelectedRows": ("rows read", 1),
    "SelectedParts": ("files read", 1),
}


class ClickHouse:
    """One server with its tables in a folder, which is emptied first."""

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self._session = Session(str(folder))

    def sql(self, statement: str) -> list[tuple]:
        """Run a statement; returns its rows."""
        text = self._session.query(statement, "JSONCompactEachRow").data()
        return [tuple(json.loads(line)) for line in text.splitlines() if line]

    def create(self, groups: Sequence[str]) -> None:
        """Make the tables anew: a stage, the folded rows with a projection for each group, and the view between them."""
        for name in ("transform", "stage", "folded"):
            self.sql(f"drop table if exists {name} sync")
        parts = ", ".join([COLUMNS, *(PROJECTION.format(group) for group in groups)])
        kept = "settings deduplicate_merge_projection_mode = 'rebuild'" if groups else ""
        self.sql(f"create table folded ({parts}) engine = VersionedCollapsingMergeTree(sign, version) order by id {kept}")
        self.sql(f"create table stage ({COLUMNS}) engine = Null")
        carried = ", ".join(f"if(__old._sign = -1, __old.{name}, __new.{name}) as {name}" for name in CARRIED)
        self.sql(TRANSFORM.format(carried=carried))

    def fold(self, folder: Path) -> None:
        """Insert the events of a folder of parquet files."""
        self.sql("insert into stage " + EVENTS.format(folder / "*.parquet"))

    def optimize(self) -> None:
        """Let the table collapse what it can."""
        self.sql("optimize table folded final")

    def sums(self, group: str) -> list[tuple]:
        """Return the sums by a group, which its projection holds."""
        summed = f"select {group}, sum(sign) as n, sum(metric1 * sign), sum(metric2 * sign) from folded group by {group}"
        return self.sql(f"{summed} having n > 0 order by {group}")

    def close(self) -> None:
        """Stop the server."""
        self._session.close()

    def counters(self) -> dict[str, float]:
        """Return what the server counts from its start on; a part counts as a file."""
        names = ", ".join(f"'{name}'" for name in COUNTERS)
        found = self.sql(f"select event, toFloat64(value) from system.events where event in ({names})")
        return {COUNTERS[event][0]: value * COUNTERS[event][1] for event, value in found}
