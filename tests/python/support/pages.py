"""What the pages of docs/ print for their readers to copy."""

from __future__ import annotations

import re

from support.dbt_project import REPOSITORY

# A fenced block of a page: its language, and its text.
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(page: str) -> str:
    """Return a page of docs/."""
    return (REPOSITORY / "docs" / page).read_text(encoding="utf-8")


def sql_of(page: str) -> list[str]:
    """Return the blocks of SQL of a page, in order."""
    return [text for language, text in BLOCK.findall(text_of(page)) if language == "sql"]


def files_of(page: str) -> dict[str, str]:
    """Return the models and tests of a page, {path: text}: the blocks that begin with a comment that names their file."""
    named = ((re.match(r"-- ((?:models|tests)/\w+\.sql)", block), block) for block in sql_of(page))
    return {found[1]: block for found, block in named if found}
