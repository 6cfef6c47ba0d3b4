"""What the package's macros stand for when sqlfluff renders a model: something that can be parsed in their place."""


def ledger(stage: str) -> str:
    """Stand for the body of a ledger model."""
    return f"select * from {stage}"


def joined(first: str, **others: str) -> str:
    """Stand for the body of a joined ledger."""
    return f"select * from {first}"


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


def differences(actual: str, expected: str, columns: list[str]) -> str:
    """Stand for the query of rows that two queries do not share."""
    return f"select {', '.join(columns)} from {actual} except all select {', '.join(columns)} from {expected}"


def shard_name(name: str) -> str:
    """Stand for the name of a shard's table."""
    return name


def history(ledger: str) -> str:
    """Stand for the subquery of a ledger's batches."""
    return ledger


def rejects(ledger: str) -> str:
    """Stand for the subquery of rejected rows."""
    return ledger


def blocks(ledger: str) -> str:
    """Stand for the subquery of folded blocks."""
    return ledger


def explain_key(model: str, key: object, stage: str | None = None) -> str:
    """Stand for the subquery of the life of one key."""
    return model
