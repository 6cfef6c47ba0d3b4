"""What the scripts share: one process at a time on a metastore that takes no more, and what setup.sh sets up."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import idioms
from support.dbt_project import REPOSITORY
from workspace import InUse, alone

pytestmark = pytest.mark.only("parquet")

HOLDER = (
    "import sys, workspace, pathlib\nwith workspace.alone(pathlib.Path(sys.argv[1])):\n    print('held', flush=True)\n    input()"
)


def test_the_second_script_is_told_who_is_at_work_and_a_killed_one_holds_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(Path(sys.modules["workspace"].__file__).parent)},
    ) as first:
        assert first.stdout.readline() == b"held\n"
        said = rf"{re.escape(str(tmp_path))} is being used by process {first.pid} since 20\d\d-.*: wait for it to end"
        with pytest.raises(InUse, match=said), alone(tmp_path):
            pass
        first.kill()
    with alone(tmp_path):
        pass


@pytest.mark.full
def test_a_metastore_that_spark_has_open_is_seen(spark, local: Path) -> None:
    spark.sql("show schemas").collect()
    said = rf"metastore is open in process \d+, which process {os.getpid()} has started \(.*python.*\): wait for it to end"
    with pytest.raises(InUse, match=said if sys.platform == "linux" else "another process"), alone(local):
        pass
    with alone(local, is_embedded=False):  # a server has a metastore of its own
        pass


def _setup(folder: Path, commands: str, **environment: str) -> subprocess.CompletedProcess:
    """Run commands in a folder after setup.sh was sourced; nothing that they make is anywhere else."""
    script = f"set -euo pipefail; source '{REPOSITORY}/scripts/setup.sh'; {commands}"
    known = {name: value for name, value in os.environ.items() if name != "DBT_PROFILES_DIR"}
    environment = known | {"COLLAPSING_LOCAL": str(folder / ".local")} | environment
    return subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_profiles_are_those_that_dbt_would_take_else_the_ones_of_this_repository(tmp_path: Path) -> None:
    asked = "setup_environment_of_user; printf '%s' \"$DBT_PROFILES_DIR\""
    assert _setup(tmp_path, asked).stdout == str(REPOSITORY / "profiles")
    (tmp_path / "profiles.yml").touch()
    assert _setup(tmp_path, asked).stdout == str(tmp_path)
    assert _setup(tmp_path, asked, DBT_PROFILES_DIR="/elsewhere").stdout == "/elsewhere"


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_virtual_environment_that_a_user_has_made_is_left_alone(tmp_path: Path, is_ours: bool) -> None:
    venv = tmp_path / ".venv"
    venv.mkdir()
    (venv / "pyvenv.cfg").touch()
    if is_ours:  # and its installation was cut short
        (venv / ".setup-stamp").touch()
    ran = _setup(tmp_path, "_uv_find() { echo made again; exit; }; setup_environment; VENV=$PWD/.venv; setup_venv package")
    assert (ran.returncode, ran.stdout) == ((0, "made again\n") if is_ours else (1, ""))
    assert (f"{venv} is a virtual environment that no script of this repository has made" in ran.stderr) == (not is_ours)


def test_uv_asks_the_index_that_pip_is_told_of_unless_it_is_told_of_one_itself(tmp_path: Path) -> None:
    asked = "UV=env; _uv | sed -n 's/^UV_DEFAULT_INDEX=//p'"
    of_pip = {"UV_INDEX_URL": "", "UV_DEFAULT_INDEX": "", "PIP_INDEX_URL": "https://pip.invalid/simple"}
    assert _setup(tmp_path, asked, **of_pip).stdout == "https://pip.invalid/simple\n"
    assert _setup(tmp_path, asked, **of_pip | {"UV_DEFAULT_INDEX": "https://uv.invalid"}).stdout == "https://uv.invalid\n"


def test_the_lock_names_the_public_index_alone() -> None:
    locked = (REPOSITORY / "uv.lock").read_text()
    assert set(re.findall(r"https?://[^/\"]*", locked)) == {"https://pypi.org", "https://files.pythonhosted.org"}


BEFORE = "{% macro _m(settings) %}"
SILENT = {
    idioms.RETURN: [
        "{% do return(x) if c %}",
        "{{ return({'a': {'b': ')'}}) if c }}",
        "{{- return(x)\n    if c -}}",
        "{% do return(x) | list %}",
    ],
    idioms.NAMESPACE: [
        "{% if 'm' in collapsing %}{% endif %}",
        "{% for m in collapsing %}{% endfor %}",
        "{% set m = collapsing.get('m') %}",
    ],
    idioms.POSITIONAL: [
        "{% set r = api.Relation.create(none, 's', 't') %}",
        "{% set r = api.Relation.create(\n    d, schema='s') %}",
    ],
    idioms.WRITE: [
        "{% do graph.update({'a': 1}) %}",
        "{% do graph.get('a', {}).get(b, {}).pop('c', none) %}",
        "{% do graph.nodes[id].update({'a': 1}) %}",
        "{% do graph.nodes[id].config.meta.setdefault('a', 1) %}",
        "{% set graph['a'] = 1 %}",
        "{% do model.update(a=1) %}",
        "{% do model.config.update(a=1) %}",
        "{% do settings.key.append('a') %}",
        "{% do node.config.pop('a') %}",
    ],
    idioms.MATCH: [
        "{{ modules.re.match('a(b)', x)[1] }}",
        "{{ (modules.re.search('(a)', x) or [none, ''])[1] }}",
        "{% set found = modules.re.search('(a)', x) %}\n{{ found[1] if found }}",
        "{% set found = modules.re.match('(a)', x) if x %}{{ (found or [''])[0] }}",
    ],
    idioms.ANCHOR: ["{{ modules.re.match('a|b', x) }}", "{{ modules.re.match('(a|b)$|[c|]', x) }}"],
    idioms.CONFIG: ["{{ adapter.config.credentials }}"],
}
FINE = """
{# {% do graph.update({}) %} #}
{% macro _m(settings) %}
    {% if c %}{{ return(x) }}{% endif %}{% if d %}{% do return({'a': (1 if c else 2)}) %}{% endif %}
    {% for row in collapsing._rows_of('a') if 'm' in collapsing._names() %}{% endfor %}
    {% set r = api.Relation.create(database=none, schema='s', identifier='t') %}
    {% set found = modules.re.match('(?:a|b)[|]\\\\|', x) %}{% set other_found = ['a'] %}{{ other_found[0] }}
    {{ found.group(1) if found }}{% set word = modules.re.search('(a|b)', x).group(1) %}{{ word[0] }}
    {% do columns.update({'a': graph.nodes[id].config.get('a')}) %}{% set node = graph.nodes[id] %}
{% endmacro %}
{% macro _other() %}{% set found = [1] %}{{ found[0] }}{% endmacro %}
"""


@pytest.mark.parametrize("idiom", SILENT)
def test_jinja_that_another_dbt_reads_otherwise_is_found(idiom: str) -> None:
    for text in SILENT[idiom]:
        assert {found for _, found in idioms.found_in(f"{BEFORE}\n{text}\n{{% endmacro %}}")} == {idiom}, text


def test_jinja_that_every_dbt_reads_alike_is_left_alone() -> None:
    assert list(idioms.found_in(FINE)) == []


def test_the_linter_names_file_line_and_idiom(tmp_path: Path) -> None:
    (tmp_path / "m.sql").write_text(f"{BEFORE}\n    {{% do return(x) if c %}}\n{{% endmacro %}}\n")
    ran = subprocess.run([sys.executable, idioms.__file__, tmp_path], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, f"{tmp_path}/m.sql:2: {idioms.RETURN}\n")
