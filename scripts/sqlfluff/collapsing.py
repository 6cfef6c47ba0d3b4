"""What the package's macros stand for when sqlfluff renders a model: something that can be parsed in their place."""


def ledger(stage: str) -> str:
    """Stand for the body of a ledger model."""
    return f"select * from {stage}"


def projection(ledger: str) -> str:
    """Stand for the body of a projection model."""
    return f"select * from {ledger}"


def final(relation: str, as_of: int | None = None, across_partitions: bool = True) -> str:
    """Stand for the subquery of live rows or merged groups."""
    return relation


def changes(ledger: str, after: int) -> str:
    """Stand for the subquery of later batches."""
    return ledger


def decisions(ledger: str, stage: str) -> str:
    """Stand for the subquery of staged rows and what became of them."""
    return stage


def history(ledger: str) -> str:
    """Stand for the subquery of a ledger's batches."""
    return ledger


def rejects(ledger: str) -> str:
    """Stand for the subquery of rejected rows."""
    return ledger


def blocks(ledger: str) -> str:
    """Stand for the subquery of folded blocks."""
    return ledger
