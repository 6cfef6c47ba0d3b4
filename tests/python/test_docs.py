"""The documentation: the reference is whole, and every command that a page prints is one that there is.

scripts/lint builds the site, checks every link, and refuses a page that would ask another server.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import PurePath

import pytest
from dbt.cli.main import cli

from support.dbt_project import REPOSITORY
from support.pages import BLOCK

pytestmark = pytest.mark.only("parquet")  # looks at files
PAGES = [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md"), REPOSITORY / "models" / "examples" / "README.md"]
# the changelog names what is gone
OF_TODAY = [page for page in PAGES if page.name != "CHANGELOG.md"] + [*(REPOSITORY / ".github" / "workflows").glob("*.yml")]


def test_the_reference_has_every_public_macro_and_test() -> None:
    specification = importlib.util.spec_from_file_location("macro_pages", REPOSITORY / "scripts" / "site" / "macro_pages.py")
    macro_pages = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(macro_pages)
    entries = re.findall(r"^### `(\w+)`", macro_pages.page(REPOSITORY), re.MULTILINE)
    files = [*(REPOSITORY / "macros").glob("*.sql"), *(REPOSITORY / "macros" / "operations").glob("*.sql")]
    public = {name for file in files for name in re.findall(r"\{%-?\s*macro ([a-z]\w*)", file.read_text())}
    tests = {file.stem for file in (REPOSITORY / "tests" / "generic").glob("*.sql")}
    assert set(entries) == public | tests
    assert len(entries) == len(set(entries))


def test_no_page_has_a_mark_in_the_place_of_what_was_printed() -> None:
    marks = [
        f"{page.name}: {mark}" for page in PAGES for mark in re.findall(r"^[A-Z]+(?:_[A-Z]+)+$", page.read_text(), re.MULTILINE)
    ]
    assert not marks


def _shell(page: str) -> Iterator[str]:
    """Yield what a page has of shell: its blocks, what follows a prompt, commands within a sentence, and those of a workflow."""
    yield from re.findall(r"^ *- (scripts/.*)$", page, re.MULTILINE)
    for language, block in BLOCK.findall(page):
        if language in ("sh", "bash"):
            yield block.replace("\\\n", " ")
        else:
            yield from re.findall(r'^\$ ((?:"[^"]*"|[^"\n])*)$', block, re.MULTILINE)
    for code in re.findall(r"`([^`\n]+)`", BLOCK.sub("", page)):
        if re.match(r"dbt |\S*scripts/", code):
            yield code


def _commands(shell: str) -> Iterator[list[str]]:
    """Yield the words of each command that calls dbt or a script of this repository, from that word on."""
    without_comments = re.sub(r"(^|\s)#\s.*$", "", shell, flags=re.MULTILINE)
    without_files = re.sub(r"(?<=\s)\d?>>? *\S+", " ", re.sub(r"<[\w ]+>", "x", without_comments))
    words = shlex.shlex(without_files, posix=True, punctuation_chars="&|;()\n")
    words.whitespace, words.whitespace_split, words.commenters = " \t", True, ""
    command: list[str] = []
    for word in [*words, ";"]:
        if set(word) <= set("&|;()\n"):
            if command:
                yield command
            command = []
        elif command or word == "dbt" or re.fullmatch(r"\S*scripts/[a-z-]+", word):
            command.append(word)


def _check_dbt(words: list[str]) -> None:
    """Have dbt read the arguments of a command; of an operation, look its arguments up in its macro."""
    known = {option for parameter in cli.params for option in (*parameter.opts, *parameter.secondary_opts)}
    while words and words[0].startswith("-"):
        assert words.pop(0) in known
    if not words:
        return
    name, *arguments = words
    context = cli.commands[name].make_context(name, arguments)
    if name == "run-operation":
        package, operation = context.params["macro"].split(".")
        [sql] = [file.read_text() for file in (REPOSITORY / "macros" / "operations").glob(f"{operation}.sql")]
        takes = re.search(rf"macro {operation}\((.*?)\)", sql)[1]
        assert package == "collapsing" and set(context.params["args"] or {}) <= set(re.findall(r"\w+", takes))


def _check_script(words: list[str]) -> None:
    """Look the options of a script up in its help, and what it is told to do."""
    text = (REPOSITORY / "scripts" / PurePath(words[0]).name).read_text()
    for word in words[1:]:
        if word.startswith("tests/"):
            assert (REPOSITORY / word).exists()
        elif word.startswith("-") or word == words[1]:
            assert word.partition("=")[0] in text


@pytest.mark.parametrize("page", OF_TODAY, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_each_printed_command_is_one_that_dbt_or_a_script_takes(page, monkeypatch) -> None:
    monkeypatch.setenv("DBT_PROFILES_DIR", str(REPOSITORY / "profiles"))
    text = page.read_text()
    printed = [words for shell in _shell(text) for words in _commands(shell)]
    assert printed or "```sh" not in text
    for words in printed:
        check = _check_dbt if words[0] == "dbt" else _check_script
        try:
            check(words[1:] if words[0] == "dbt" else words)
        except Exception as error:
            raise AssertionError(f"{' '.join(words)}: {error}") from error
