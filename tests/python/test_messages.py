"""The page of messages, docs/messages.md: every message that a macro can give is on it, and every entry comes from a macro.

A message is made of literals and of what varies. The page has it as a reader sees it, with <...> for what varies, in the first
cell of a table that is headed `message`. All literals that are long enough to tell a message have to be in one such entry, in
order.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.only("parquet")  # looks at files

REPOSITORY = Path(__file__).parents[2]
SOURCES = sorted([*REPOSITORY.glob("macros/**/*.sql"), *REPOSITORY.glob("tests/generic/*.sql")])
PAGE = (REPOSITORY / "docs" / "messages.md").read_text()

STRING = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\""
BLOCK = re.compile(rf"\{{#.*?#\}}|\{{\{{(?:{STRING}|[^'\"])*?\}}\}}|\{{%(?:{STRING}|[^'\"])*?%\}}", re.S)
TOKEN = re.compile(rf"{STRING}|[\w.]+|\S", re.S)

# What gives a message to a reader.
SPEAKS = re.compile(r"(?:_raise\w*|_say|_warn|raise_compiler_error|try_or_compiler_error)$")
# Macros that return a message, or words of one, for another macro to give; and how they make it.
RETURN_WORDS = {
    "_column_changes",
    "_instead_of_test",
    "_line_of",
    "_preview_of_ledger",
    "_preview_of_projection",
    "_projection_act",
    "_refusal",
    "_sql_is_in_zone",
    "_why_created_again",
    "_why_not_built",
}
RETURNS = re.compile(r"^(?:return|print|.*\.append|.*\.update)$")
# Every message begins so, which the page says once.
PREFIX = re.compile(r"^(?:collapsing: (?:model ')?|': )")
# A literal that tells a message: words, long enough to be nowhere by chance; no SQL, pattern or format of a line.
TELLING = re.compile(r"^(?!select |explain |%)(?=.{12})[^\\`]*[ :][^\\`]*$")
# What an error about a setting has besides.
FRAME = {"setting '", "' must be", "one of:", "; given:"}
# How much may be left of an entry without the literals of its message: single words.
REST = 12


def _macros(path: Path) -> Iterator[tuple[str, list[list[str]]]]:
    """Return the name of each macro of a file, with the tokens of each of its blocks of Jinja, comments left out."""
    name, blocks = "", []
    for block in BLOCK.findall(path.read_text()):
        if begun := re.match(r"\{%-?\s*(?:macro|test|materialization)\s+(\w+)", block):
            yield name, blocks
            name, blocks = begun.group(1), []
        if not block.startswith("{#"):
            blocks.append(TOKEN.findall(block.strip("{}%-")))
    yield name, blocks


def _argument(tokens: list[str], at: int) -> list[str]:
    """Return the tokens between the parenthesis at a place and the one that closes it."""
    depth, end = 1, at + 1
    while depth:
        depth += {"(": 1, ")": -1}.get(tokens[end], 0)
        end += 1
    return tokens[at + 1 : end - 1]


def _said_by(name: str, blocks: list[list[str]]) -> Iterator[list[str]]:
    """Return the expressions that make the messages of a macro: what its calls are given, and the variables named there."""
    waiting, seen = [], set()
    for tokens in blocks:
        for at, token in enumerate(tokens[:-1]):
            is_said = SPEAKS.search(token) or (name in RETURN_WORDS and RETURNS.search(token))
            if is_said and tokens[at + 1] == "(":
                waiting.append(_argument(tokens, at + 1))
    while waiting:
        yield (expression := waiting.pop())
        for variable in set(_variables(expression)) - seen:
            seen.add(variable)
            waiting.extend(_values(variable, blocks))


def _variables(expression: list[str]) -> Iterator[str]:
    """Return the variables in an expression whose text is in it: a name before a parenthesis is a call, with a dot a field."""
    for token, following in zip(expression, [*expression[1:], ""], strict=True):
        if re.fullmatch(r"[a-z_]+", token) and following != "(":
            yield token


def _values(variable: str, blocks: list[list[str]]) -> Iterator[list[str]]:
    """Return the expressions that a macro sets a variable to, or appends to it; what a query returns is data."""
    for tokens in blocks:
        is_set = tokens[0] == "set" and "=" in tokens and variable in tokens[: tokens.index("=")]
        if is_set and "collapsing._rows_of" not in tokens:
            yield tokens[tokens.index("=") + 1 :]
        if f"{variable}.append" in tokens:
            yield _argument(tokens, tokens.index(f"{variable}.append") + 1)


def _literals(expression: list[str]) -> Iterator[str]:
    """Return the literals of an expression, those that `~` joins as one, without what every message begins with."""
    literals: list[str] = []
    is_joined = False
    for token in expression:
        if token[0] in "'\"":
            text = ast.literal_eval(token)
            literals[-1:] = [literals[-1] + text] if is_joined else [*literals[-1:], text]
        is_joined = token[0] in "'\"" or (is_joined and token == "~")
    for literal in literals:
        yield " ".join(PREFIX.sub("", literal).split())


@cache
def _messages() -> dict[tuple[str, ...], str]:
    """Return the literals of each message, in their order, with the macro that it is from; a few words alone are none."""
    return {
        tuple(_literals(expression)): f"{path.relative_to(REPOSITORY)}, {name}"
        for path in SOURCES
        for name, blocks in _macros(path)
        for expression in _said_by(name, blocks)
        if any(map(TELLING.search, _literals(expression))) and not next(_literals(expression)).startswith(("select ", "if("))
    }


def _entries() -> list[str]:
    """Return the entries of the page: the code in the first cell of each row of a table of messages."""
    tables = re.findall(r"^\| message \|.*\n\|---.*\n((?:\|.*\n)+)", PAGE, re.M)
    return [" <or> ".join(re.findall(r"`(.+?)`", row.split(" | ")[0])) for table in tables for row in table.splitlines()]


def _is_in(message: tuple[str, ...], entry: str) -> bool:
    """Return whether an entry has all that tells a message, in its order."""
    telling = [re.escape(literal) for literal in message if TELLING.search(literal)]
    return re.search(".*".join(telling), entry) is not None


def _rest(entry: str) -> list[str]:
    """Return what an entry has that is in no message of which it has all: text without a source."""
    known = {literal for message in _messages() if _is_in(message, entry) for literal in message if len(literal) > 3}
    for literal in sorted(known | FRAME, key=len, reverse=True):
        entry = entry.replace(literal, "<>")
    return [part for part in re.split("<.*?>", entry) if len(part.strip()) >= REST]


def test_every_message_is_on_the_page() -> None:
    entries = _entries()
    missing = [
        f"{where}: {' <...> '.join(filter(TELLING.search, message))}"
        for message, where in _messages().items()
        if not any(_is_in(message, entry) for entry in entries)
    ]
    assert not missing, "not in docs/messages.md:\n" + "\n".join(missing)


def test_every_entry_has_a_source() -> None:
    gone = [f"{' <...> '.join(rest)}\n    of: {entry}" for entry in _entries() if (rest := _rest(entry))]
    assert not gone, "in docs/messages.md and in no macro:\n" + "\n".join(gone)


def test_every_finding_of_a_check_is_on_the_page_and_no_other() -> None:
    checks = "".join(path.read_text() for path in SOURCES if path.parent.name == "checks")
    (table,) = re.findall(r"^\| finding \|.*\n\|---.*\n((?:\|.*\n)+)", PAGE, re.M)
    named = set(re.findall(r"'(\w+)' as finding", checks)) | set(re.findall(r"\(.*, '(\w+)', '?\w+'?, '\w+'\)", checks))
    assert set(re.findall(r"^\| `(\w+)`", table, re.M)) == named
