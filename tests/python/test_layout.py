"""What the folders of macros promise to a reader, and to a docs site."""

from __future__ import annotations

import importlib.util
import re
import sys

import pytest
import yaml

from support.dbt_project import REPOSITORY

pytestmark = pytest.mark.only("parquet")  # looks at files

MACROS = REPOSITORY / "macros"
DEFINED = re.compile(r"\{%-? *macro +(\w+)")


def test_a_docs_site_hides_each_private_macro() -> None:
    defined = {name for file in MACROS.rglob("*.sql") for name in DEFINED.findall(file.read_text())}
    hidden = yaml.safe_load((MACROS / "private.yml").read_text())["macros"]
    assert {macro["name"] for macro in hidden if not macro["docs"]["show"]} == {name for name in defined if name.startswith("_")}


def test_one_public_macro_a_file_named_for_it() -> None:
    for file in MACROS.rglob("*.sql"):
        public = [name for name in DEFINED.findall(file.read_text()) if not name.startswith("_")]
        assert public in ([], [file.stem]), file
        assert not public or file.with_suffix(".yml").exists(), file


def test_a_macro_fits_on_a_screen() -> None:
    """But for what is one text on purpose: templates that read as their compiled SQL does."""
    defined = re.compile(r"\{%-? (macro|materialization) (\w+).*?\{%-? end\1 %\}", re.DOTALL)
    long = {
        match[2] for file in MACROS.rglob("*.sql") for match in defined.finditer(file.read_text()) if match[0].count("\n") >= 50
    }
    assert long <= {"_classified", "_notes_of_batch", "_project"}


def test_only_storage_names_a_format() -> None:
    """How a table is stored is known in one folder."""
    names = re.compile(r"'(?:delta|iceberg|parquet)'")
    naming = {str(file.relative_to(MACROS)) for file in MACROS.rglob("*.sql") if names.search(file.read_text())}
    assert {path.split("/")[0] for path in naming} == {"storage"}, naming


def test_only_an_engine_s_own_file_names_it() -> None:
    """The fold asks the rules of an engine; it does not branch on its name, or on the form of its input."""
    names = re.compile(r"settings\.engine (?:==|!=|in)|settings\.(?:deletes|input) (?:==|!=)|get\('input'\)")
    naming = {str(file.relative_to(MACROS)) for file in MACROS.rglob("*.sql") if names.search(file.read_text())}
    assert naming <= {"engines/engines.sql", "settings/ledger_settings.sql", "settings/checks.sql"}


def test_each_mutant_turns_around_what_stands_once(monkeypatch) -> None:
    """The script takes one for a survivor otherwise, but only when it runs, which takes an hour or two."""
    spec = importlib.util.spec_from_file_location("mutate", REPOSITORY / "scripts" / "mutate.py")
    mutate = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "mutate", mutate)
    spec.loader.exec_module(mutate)
    assert [one for one in mutate.MUTANTS if (MACROS / one.file).read_text().count(one.old) != 1] == []
