"""docs/starter, by the README and by the quickstart: their files, their commands as they stand, and what these print.

By default the commands of dbt run in this process, and what makes an environment is left out. With --full a shell runs all of
them, in an environment that pip has just made, which downloads Spark.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

from support.dbt_project import REPOSITORY
from support.pages import BLOCK

pytestmark = pytest.mark.only("parquet")

PAGES = {"README": REPOSITORY / "README.md", "quickstart": REPOSITORY / "docs" / "quickstart.md"}
STARTER = REPOSITORY / "docs" / "starter"
# A block of this kind is a file of the project, named in its first line.
NAMED = re.compile(r"(?:--|#) ([\w./]+\.(?:sql|yml))(?:: .*)?\n")
# What has to download something.
SETS_UP = re.compile(r"python3 -m venv|\. \.venv|pip install")
# What a page shows of a command that is not told to be quiet.
SHOWN = {
    "dbt run-operation": re.compile(r"(collapsing: .*)"),
    "dbt run": re.compile(r"\d+ of \d+ (OK created sql incremental_\w+ model \S+) \.* ?(\[.*) in [\d.]+s(\])"),
    "dbt test": re.compile(r"\d+ of \d+ (PASS \S+)"),
}
# Stands in what the shell prints, before what each command does.
MARK = "-- next command"


def _files(page: Path) -> Iterator[tuple[str, str]]:
    """Return the files that a page shows, (path, text)."""
    for language, text in BLOCK.findall(page.read_text()):
        named = NAMED.match(text)
        if language in ("sql", "yaml") and named:
            yield named[1], text[named.end() :]


def _steps(page: Path) -> Iterator[tuple[str, str | None]]:
    """Return the commands of a page in order, (command, what it prints); None for one that shows nothing.

    A file that the starter has not becomes a command that writes it.
    """
    for language, text in BLOCK.findall(page.read_text()):
        named = NAMED.match(text)
        if language == "sh" and "dbt " in text:
            for command in text.replace("\\\n", " ").splitlines():
                yield command, None
        elif named and not (STARTER / named[1]).exists():
            yield f"cat > {named[1]} <<'END'\n{text[named.end() :]}END", None
        elif language == "" and text.startswith("$ "):
            for shown in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, printed = shown.partition("\n")
                while command.count('"') % 2:
                    more, _, printed = printed.partition("\n")
                    command += "\n" + more
                yield command, printed.strip()


def _as_shown(command: str, printed: str) -> str:
    """Return what a page shows of that which a command has printed."""
    if "--quiet" in command:
        return printed.strip()
    shown = next(pattern for name, pattern in SHOWN.items() if name in command)
    lines = re.findall(rf"^\d\d:\d\d:\d\d +{shown.pattern}", printed, re.MULTILINE)
    return "\n".join(line if isinstance(line, str) else " ".join(line).replace(" ]", "]") for line in lines)


def _unbroken(command: str, shown: str) -> str:
    """Return what a page shows of a command, with lines as they were before the page broke them."""
    return shown if "--quiet" in command else re.sub(r"\n {4}(?=[^ ])", " ", shown)


@pytest.mark.parametrize("page", PAGES.values(), ids=[*PAGES])
def test_a_page_shows_the_files_of_the_starter(page: Path) -> None:
    shown = dict(_files(page))
    ours = {path: text for path, text in shown.items() if (STARTER / path).exists()}
    models = {f"models/{path.name}" for path in STARTER.glob("models/*.sql")}
    assert len(models) == 4 and models <= set(ours)
    for path, text in ours.items():
        assert text.strip() == (STARTER / path).read_text().strip(), path


def test_the_readme_has_at_most_250_lines() -> None:
    assert len(PAGES["README"].read_text().splitlines()) <= 250


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder but for a clone of the package, without its own models; relative paths of Spark and dbt begin in `shop`."""
    clone = tmp_path / "collapsing"
    shutil.copytree(STARTER, clone / "docs" / "starter")  # of a link cp would make another link
    for path in ("dbt_project.yml", "macros", "tests/generic"):
        (clone / path).parent.mkdir(exist_ok=True)
        (clone / path).symlink_to(REPOSITORY / path)
    for name in ("DBT_PROFILES_DIR", "DBT_TARGET"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("DBT_USE_COLORS", "false")
    monkeypatch.chdir(tmp_path)
    hadoop = spark._jvm.org.apache.hadoop.fs
    files = hadoop.FileSystem.get(spark._jvm.java.net.URI("file:///"), spark._jsc.hadoopConfiguration())
    before = files.getWorkingDirectory()
    files.setWorkingDirectory(hadoop.Path(str(tmp_path / "shop")))
    spark.catalog.setCurrentDatabase("default")  # another file's project of this name may have been the last
    spark.sql("drop schema if exists shop cascade")
    yield tmp_path
    spark.sql("drop schema if exists shop cascade")
    files.setWorkingDirectory(before)


def _ran(command: str) -> str:
    """Run a command in the current folder, one of dbt in this process; returns what it has printed."""
    printed = ""
    for part in command.split(" && "):
        if part.startswith("dbt "):
            with contextlib.redirect_stdout(io.StringIO()) as heard:
                result = dbtRunner().invoke(shlex.split(part)[1:])
            printed += heard.getvalue()
            assert result.success, f"{part}: {result.exception}\n{printed}"
        elif part.startswith("cd "):
            os.chdir(part.removeprefix("cd "))
        else:
            subprocess.run(part, shell=True, check=True)
    return printed


@pytest.mark.parametrize("page", PAGES.values(), ids=[*PAGES])
def test_the_commands_of_a_page_print_what_it_shows(folder: Path, page: Path) -> None:
    shown, printed = [], []
    for command, output in _steps(page):
        if SETS_UP.match(command):
            continue
        heard = _ran(command)
        if output is not None:
            shown.append(f"$ {command}\n{_unbroken(command, output)}")
            printed.append(f"$ {command}\n{_as_shown(command, heard)}")
    assert len(shown) > 3
    assert "\n".join(printed) == "\n".join(shown)


@pytest.mark.full
@pytest.mark.parametrize("page", PAGES.values(), ids=[*PAGES])
def test_a_stranger_s_shell_prints_what_a_page_shows(tmp_path: Path, page: Path) -> None:
    """Everything as it stands, `pip install` too."""
    (tmp_path / "collapsing").symlink_to(REPOSITORY)
    steps = list(_steps(page))
    ours = re.compile("DBT_|COLLAPSING_|SPARK_|PYTHON")
    environment = {name: value for name, value in os.environ.items() if not ours.match(name)} | {"NO_COLOR": "1"}
    environment |= {"DBT_USE_COLORS": "false", "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    script = "\n".join(["set -e", *(f"echo '{MARK}'\n{command}" for command, _ in steps)])
    ended = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    for (command, output), heard in zip(steps, ended.stdout.split(MARK + "\n")[1:], strict=True):
        if output is not None:
            assert _as_shown(command, heard) == _unbroken(command, output), command
