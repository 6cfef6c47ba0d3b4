"""The SQL of a batch without dbt, run by Spark alone: of the package the fold as it compiles, and of a peer its MERGE."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session import Bench


PROPERTIES = ("delta.enable", "write.", "format-version")  # how the names begin of those that say how a table is written


class Bare:
    """The statements that a batch of the ledger `folded` and its projections cannot do without, writing into tables of their own.

    They read the ledger as it was before the batch, so that it does not matter whether its own run comes first.
    """

    def __init__(self, bench: Bench, groups: Sequence[str]) -> None:
        self._bench, self._groups = bench, groups
        self._number, self._fold, self._sums = 0, "", dict.fromkeys(groups, "")
        self._columns = ", ".join(name for name in bench.spark.table("folded").columns if name != "ledger_note")
        kept = f"using {bench.target} partitioned by (ledger_batch)"
        bench.sql(f"create table bare {kept} as select {self._columns} from folded where false")
        for group in groups:
            bench.sql(f"create table bare_by_{group} {kept} as select * from folded_by_{group} where false")

    def compile(self) -> None:
        """Make ready for the batch that the ledger's next run will fold."""
        self._number = 1 + (self._bench.sql("select max(abs(ledger_batch)) from folded")[0][0] or 0)
        self._bench.sql(f"create or replace temp view earlier as select * from folded where ledger_batch < {self._number}")
        self._fold = self._compiled("folded", "earlier")
        for group in self._groups:
            # compiled before the batch, it reads none; the batch is a literal, as in a run
            read = r"ledger_batch > \d+ and ledger_batch <= \d+"
            sums, found = re.subn(read, f"ledger_batch = {self._number}", self._compiled(f"folded_by_{group}", "bare"))
            if found != 1:
                raise RuntimeError(f"the SQL of folded_by_{group} has this {found} times, and not once: {read}")
            self._sums[group] = sums

    def run(self) -> None:
        """Append the batch, and its sums."""
        self._append("bare", self._fold)
        for group in self._groups:
            self._append(f"bare_by_{group}", self._sums[group])

    def check(self) -> None:
        """Compare with what the runs of the ledger and its projections have appended. RuntimeError where it differs."""
        compared = {"": (self._columns, "ledger_note is null")}
        # on formats with a log each batch of a projection has a row of NULLs
        compared |= {f"_by_{group}": ("*", f"{group} is not null") for group in self._groups}
        for suffix, (columns, condition) in compared.items():
            own = f"select {columns} from folded{suffix} where ledger_batch = {self._number} and {condition}"
            if not self._bench.sql(f"{own} limit 1"):
                raise RuntimeError(f"folded{suffix} has no rows of the batch {self._number}")
            if not self._bench.is_equal(f"select * from bare{suffix} where ledger_batch = {self._number}", own):
                raise RuntimeError(f"the compiled SQL and the run of the package have appended different rows to folded{suffix}")

    def _append(self, table: str, rows: str) -> None:
        self._bench.sql(f"insert into {table} select *, {self._number} as ledger_batch from ({rows})")

    def _compiled(self, model: str, source: str) -> str:
        """Return the SQL of a model, with another relation in place of the ledger."""
        return re.sub(rf"\b{self._bench.schema}\.folded\b", source, self._bench.compiled(model))


class BareMerge:
    """A MERGE into a copy of a peer's table, and its sums rebuilt."""

    def __init__(self, bench: Bench, model: str, groups: Sequence[str]) -> None:
        self._bench, self._table, self._groups = bench, f"bare_{model}", groups
        found = [tuple(row) for row in bench.sql(f"show tblproperties {model}")]
        properties = ", ".join(f"'{name}' = '{value}'" for name, value in found if name.startswith(PROPERTIES))
        bench.sql(f"create table {self._table} using {bench.target} tblproperties ({properties}) as select * from {model}")

    def run(self, load: str, least: int | None) -> None:
        """Merge a load of the events, whose least key may be known, and sum up all rows by each group."""
        within = "" if least is None else f"and stored.id >= {least} "
        columns = ", ".join(self._bench.spark.table(self._table).columns)
        self._bench.sql(
            f"merge into {self._table} as stored using (select {columns} from events where load = '{load}') as arrived "
            f"on stored.id = arrived.id {within}when matched then update set * when not matched then insert *"
        )
        for group in self._groups:
            self._bench.sql(
                f"create or replace table {self.sums(group)} using {self._bench.target} as select {group}, count(*) as n, "
                f"sum(metric1) as metric1, sum(metric2) as metric2 from {self._table} where not is_deleted group by {group}"
            )

    def sums(self, group: str) -> str:
        """Return the table of the sums by a group."""
        return f"{self._table}_by_{group}"
