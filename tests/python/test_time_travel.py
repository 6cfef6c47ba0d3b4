"""Where the format keeps its own history, final over an old version of a ledger is what final gives as of that batch."""

from __future__ import annotations

import pytest

from support.lives import LEDGERS, live_project, stage
from support.targets import WITH_LOG

pytestmark = pytest.mark.only(*WITH_LOG)

# How to ask a table for its newest version; the first value of the answer is it.
VERSIONS = {
    "delta": "describe history {} limit 1",
    "iceberg": "select snapshot_id from {}.snapshots order by committed_at desc limit 1",
}
BATCHES = 4


@pytest.fixture(scope="module")
def travelled(make_project, target: str):
    """A project of ledgers after some batches; returns (project, {(ledger, batch): the format's version})."""
    project, life = live_project(make_project, "travelled")
    versions = {}
    for batch in range(1, BATCHES + 1):
        stage(project, life.next_block())
        project.run("run")
        for name in LEDGERS:
            versions[name, batch] = project.rows(VERSIONS[target].format(f"travelled.{name}"))[0][0]
    return project, versions


def _final(project, name: str, as_of: str = "none") -> str:
    """Return the SQL that final renders."""
    result = project.invoke("compile", "--inline", f"select * from {{{{ collapsing.final(ref('{name}'), as_of={as_of}) }}}}")
    return result.result.results[0].node.compiled_code


@pytest.mark.parametrize("name", LEDGERS)
def test_the_formats_time_travel_agrees_with_as_of(travelled, name: str) -> None:
    project, versions = travelled
    seen = []
    for batch in range(1, BATCHES + 1):
        table = f"travelled.{name}"
        then = _final(project, name).replace(table, f"(select * from {table} version as of {versions[name, batch]})")
        assert table in then
        seen.append(sorted(map(str, project.rows(_final(project, name, str(batch))))))
        assert seen[-1] == sorted(map(str, project.rows(then)))
    assert len(set(map(tuple, seen))) > 1, "the batches should change something"
