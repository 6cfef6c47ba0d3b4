"""The documentation as a site: every link leads somewhere, and a page asks no other server for anything."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess

import pytest

from support.dbt_project import REPOSITORY

pytestmark = pytest.mark.only("parquet")  # looks at files

MKDOCS = REPOSITORY / ".venv-docs" / "bin" / "mkdocs"
# What a page would fetch by itself. A link that a reader may follow is none of these.
FETCHED = re.compile(
    r'<(?:script|img|iframe|source)\b[^>]*\bsrc="?(?:https?:)?//|<link\b[^>]*\bhref="?(?:https?:)?//|url\(["\']?https?://'
)


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


@pytest.mark.skipif(not MKDOCS.exists(), reason="scripts/docs or scripts/lint makes .venv-docs")
def test_the_site_builds_with_every_link_and_fetches_nothing(tmp_path) -> None:
    built = subprocess.run(
        [MKDOCS, "build", "--strict", "--site-dir", tmp_path / "site"],
        cwd=REPOSITORY,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    pages = [*tmp_path.joinpath("site").rglob("*.html"), *tmp_path.joinpath("site").rglob("*.css")]
    assert len(pages) > 40
    assert {page.name: found for page in pages for found in FETCHED.findall(page.read_text())} == {}
