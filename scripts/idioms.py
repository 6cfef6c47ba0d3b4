"""Find the Jinja that dbt 1.12 or dbt v2 reads otherwise and says nothing: run by `scripts/lint sql` on folders."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

RETURN = "a condition or a filter behind `return`: it belongs in an {% if %} before it"
NAMESPACE = "a test of or a loop over the package's namespace: a dict of macros takes its place"
POSITIONAL = "api.Relation.create with positional arguments: name them"
WRITE = "a write to what dbt or a caller owns (graph, model, this, node, settings): return what was found"
MATCH = "[n] on a match of a regular expression: test it for none, then .group(n)"
ANCHOR = "re.match of alternatives without a group around them: only the first one is anchored"
CONFIG = "adapter.config"

COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
MACRO = re.compile(r"(?=\{%-?\s*(?:macro|test|materialization)\b)")
PLAIN = {
    NAMESPACE: r"\bin collapsing\b(?!\.\w*\()|\bcollapsing\.(?:get|items|keys|values)\(",
    POSITIONAL: r"\bRelation\.create\((?!\s*(?:\w+\s*=[^=]|\*\*|\)))",
    WRITE: r"(?<![\w.])(?:graph|model|this|node|settings)\b(?:\.\w+(?:\([^()]*\))?|\[[^\]]*\])*?"
    r"\.(?:update|setdefault|pop|append|extend|insert|remove|clear)\(|\bset (?:graph|model|this|node|settings)[.\[]",
    CONFIG: r"\badapter\.config\b",
}
RETURNS = re.compile(r"\{[{%]-?\s*(?:do\s+)?return\(")
MATCHES = re.compile(r"(?:\bset (\w+) = )?\(*\b(?:modules\.)?re\.(match|search|fullmatch)\(")
STRING = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
INDEXED = r"\s*(?:or [^{}%]*?\)\s*)?\["


def _end_of_call(text: str, at: int) -> int:
    """Return where the call ends whose arguments begin there."""
    depth = 1
    for part in re.compile(rf"{STRING}|[()\[\]{{}}]", re.DOTALL).finditer(text, at):
        depth += (part[0] in "([{") - (part[0] in ")]}")
        if not depth:
            return part.end()
    return len(text)


def _has_loose_alternatives(text: str, at: int) -> bool:
    """Return whether the pattern, which begins there, has a | outside of groups and sets."""
    pattern = re.match(STRING, text[at:])
    inner, before = re.sub(r"\\\\?.|\[[^\]]*\]", "", pattern[0]) if pattern else "", ""
    while inner != before:
        inner, before = re.sub(r"\([^()]*\)", "", inner), inner
    return "|" in inner


def found_in(text: str) -> Iterator[tuple[int, str]]:
    """Return each idiom of a file's text, with its line."""
    text = COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)
    places = [(match.start(), idiom) for idiom, pattern in PLAIN.items() for match in re.finditer(pattern, text)]
    for call in RETURNS.finditer(text):
        if not re.match(r"\s*-?[%}]\}", text[_end_of_call(text, call.end()) :]):
            places.append((call.start(), RETURN))
    starts = [match.start() for match in MACRO.finditer(text)] + [len(text)]
    for call in MATCHES.finditer(text):
        after = _end_of_call(text, call.end())
        if call[2] == "match" and _has_loose_alternatives(text, call.end()):
            places.append((call.start(), ANCHOR))
        if re.match(INDEXED, text[after:]):
            places.append((after, MATCH))
        elif call[1] and re.match(r"\s*(?:-?%\}|if\b|or\b)", text[after:]):
            end = min(start for start in starts if start > call.start() or start == len(text))
            places += [(use.start() + after, MATCH) for use in re.finditer(rf"(?<![\w.]){call[1]}{INDEXED}", text[after:end])]
    for at, idiom in sorted(places):
        yield text.count("\n", 0, at) + 1, idiom


def main() -> int:
    """Print each idiom with its place; returns 1 where there is one."""
    files = [file for name in sys.argv[1:] for file in sorted(Path(name).rglob("*.sql"))]
    lines = [f"{file}:{line}: {idiom}" for file in files for line, idiom in found_in(file.read_text(encoding="utf-8"))]
    print("\n".join(lines) or f"{len(files)} files, no silent idiom")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
