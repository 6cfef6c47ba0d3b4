"""The documentation as a site. scripts/lint builds it, checks every link, and refuses a page that would ask another server."""

from __future__ import annotations

import importlib.util
import re

import pytest

from support.dbt_project import REPOSITORY

pytestmark = pytest.mark.only("parquet")  # looks at files


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
    pages = [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")]
    marks = [
        f"{page.name}: {mark}" for page in pages for mark in re.findall(r"^[A-Z]+(?:_[A-Z]+)+$", page.read_text(), re.MULTILINE)
    ]
    assert not marks
