"""The package's own SQL without dbt: the fold as it compiles and the sums of what it appends, run by Spark alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session import Bench


class Bare:
    """The statements that a batch of the ledger `folded` and its projections cannot do without, writing into tables of their own.

    They read the ledger as it was before the batch, so that it does not matter whether its own run comes first.
    """

    def __init__(self, bench: Bench, groups: Sequence[str]) -> None:
        self._bench, self._groups = bench, groups
        self._number, self._fold = 0, ""
        kept = f"using {bench.target} partitioned by (ledger_batch)"
        bench.sql(f"create table bare {kept} as select * from folded where false")
        for group in groups:
            bench.sql(f"create table bare_by_{group} {kept} as {self._sums(group)}")

    def compile(self) -> None:
        """Make ready for the batch that the ledger's next run will fold."""
        self._number = 1 + (self._bench.sql("select max(abs(ledger_batch)) from folded")[0][0] or 0)
        self._bench.sql(f"create or replace temp view earlier as select * from folded where ledger_batch < {self._number}")
        self._fold = re.sub(rf"\b{self._bench.schema}\.folded\b", "earlier", self._bench.compiled("folded"))

    def run(self) -> None:
        """Append the batch, and its sums."""
        self._bench.sql(f"insert into bare {self._fold}")
        for group in self._groups:
            self._bench.sql(f"insert into bare_by_{group} {self._sums(group)}")

    def check(self) -> None:
        """Compare with what the ledger's own run has appended. RuntimeError where it differs."""
        batch = f"where ledger_batch = {self._number}"
        if not self._bench.is_equal(f"select * from bare {batch}", f"select * from folded {batch}"):
            raise RuntimeError("the compiled SQL and the run of the package have appended different rows")

    def _sums(self, group: str) -> str:
        """Give the query of what the batch adds to each group."""
        return (
            f"select {group}, sum(ledger_sign) as n, sum(metric1 * ledger_sign) as metric1, "
            f"sum(metric2 * ledger_sign) as metric2, {self._number} as ledger_batch "
            f"from bare where ledger_batch = {self._number} and ledger_sign <> 0 group by {group}"
        )
