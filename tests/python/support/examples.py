"""The seeds of the examples: the blocks that arrive, and the rows expected after each."""

from __future__ import annotations

import csv

from support.dbt_project import REPOSITORY

# ledger or projection: the seed of its expected rows
EXPECTED = {
    "example1": "example1_expected",
    "example3": "example3_expected",
    "example4": "example4_expected",
    "example4_by_dim1": "example4_expected_projection",
    "example5": "example5_expected",
    "complex_key": "complex_key_expected",
    "complex_key_by_tenant": "complex_key_expected_projection",
    "uact": "uact_expected",
    "uact_negative": "uact_negative_expected",
    "uact_versioned": "uact_versioned_expected",
    "hackernews_rmt": "hackernews_rmt_expected",
    "hackernews_views": "hackernews_views_expected",
    "hackernews_views_vcmt": "hackernews_views_vcmt_expected",
    "repl_tbl": "repl_tbl_expected",
    "repl_tbl_part": "repl_tbl_part_expected",
}
Rows = list[tuple[str | None, ...]]


def seed(name: str) -> list[dict[str, str]]:
    """Return the rows of a seed as text, read from its file and not through Spark."""
    file = next((REPOSITORY / "seeds" / "examples").glob(f"*/{name}.csv"))
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def expected(name: str, step: int) -> Rows:
    """Return the rows that a ledger or projection must hold after a step, or after its last one."""
    rows = seed(EXPECTED[name])
    after = min(step, last_step(name))
    return sorted_rows(
        tuple(value or None for column, value in row.items() if column != "step") for row in rows if int(row["step"]) == after
    )


def first_step(name: str) -> int:
    """Return the first step of an example: some begin with what is there before the article's first step."""
    ledger = name.split("_by_")[0]
    return min(int(row["step"]) for row in seed(f"{ledger}_blocks"))


def last_step(name: str) -> int:
    """Return the last step of an example: a step that leaves no row is in its blocks only."""
    ledger = name.split("_by_")[0]
    return max(int(row["step"]) for row in seed(f"{ledger}_blocks"))


def sorted_rows(rows) -> Rows:
    return sorted(rows, key=lambda row: [(value is not None, value or "") for value in row])
