"""scripts/report: a page about a project's ledgers that says what is true of them, and refers to nothing else."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import report
from support.dbt_project import LEDGER, VIEW, model

pytestmark = pytest.mark.only("parquet")  # it asks the package's own macros, which other suites run on every target

# Three blocks: two keys, an update with a copy and a late event, a delete with a bad row
ARRIVED = [
    "(1, 1, false, 10, 'b1'), (2, 1, false, 20, 'b1')",
    "(1, 3, false, 12, 'b2'), (1, 3, false, 12, 'b2'), (2, 0, false, 9, 'b2')",
    "(2, 5, true, 20, 'b3'), (cast(null as int), 1, false, 1, 'b3')",
]
SUMS = {"group_by": ["amount"], "measures": {"n": "count(*)"}}


STAGE = (
    f"{VIEW}select * from values {', '.join(ARRIVED)} as arrived (id, version, is_deleted, amount, block) "
    "where block <= '{{ var('upto', 'b3') }}'"
)


@pytest.fixture(scope="module")
def reported(make_project):
    settings = {**LEDGER, "on_bad_rows": "reject"}
    project = make_project(
        "reported",
        {
            "models/stg.sql": STAGE,
            "models/orders_ledger.sql": model("ledger(ref('stg'))", settings),
            "models/sums.sql": model("projection(ref('orders_ledger'))", SUMS),
        },
    )
    heard: list[str] = []
    hears = [lambda event: heard.append(event.info.msg)]
    assert project.invoke("run", variables={"upto": "b1"}, callbacks=hears).success
    for block, models in (("b2", ["+sums"]), ("b3", ["stg", "orders_ledger"])):
        project.run("run", "--select", *models, variables={"upto": block})
    return project, heard


@pytest.mark.full
def test_a_first_run_of_a_projection_does_not_speak_of_rebuilding(reported) -> None:
    assert any("batch 1" in line for line in reported[1])
    assert [line for line in reported[1] if "rebuilding it" in line] == []


def _make(project, monkeypatch, out: Path, *more: str) -> int:
    given = ["--project-dir", str(project.directory), "--profiles-dir", str(project.directory), "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["report", *given, *more])
    return report.main()


def _tiles(page: str) -> dict[str, str]:
    """Return the figures of a page, with what is said below them."""
    return {name: f"{value} {small}".strip() for name, value, small in TILE.findall(page)}


def _cells(page: str) -> list[list[str]]:
    """Return the texts of all rows of a page's tables."""
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [
        [" ".join(re.sub("<.*?>", " ", cell).split()) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)]
        for row in rows
    ]


TILE = re.compile("<dt>(.*?)</dt><dd>(.*?)(?:<small>(.*?)</small>)?</dd>")


@pytest.mark.full
def test_the_page_says_what_the_ledger_holds(reported, monkeypatch, tmp_path: Path) -> None:
    project = reported[0]
    before = project.batches("orders_ledger")
    assert _make(project, monkeypatch, tmp_path / "ledgers.html") == 0
    page = (tmp_path / "ledgers.html").read_text()
    tiles = _tiles(page)
    # +1 +2 | -1 +1 | -2 0: six rows, one of them live, and a tombstone
    assert tiles.pop("batches").startswith("3 last at 20") and re.fullmatch(r"\d+\.\d kB files: \d", tiles.pop("storage"))
    assert tiles == {
        "live rows": "1 what final returns",
        "dead rows": "4 67% of all, until an optimize",
        "tombstones": "1 deleted keys",
        "rejected rows": "1 bad ones",
        "unread blocks": "0 for the next run",
        "slowest projection": "1 batch behind",
    }
    cells = _cells(page)
    assert ["sums", "2", "2", "1"] in cells  # groups, has read up to, behind
    assert ["null_key", "1"] in cells
    # a bad row beside the delete, a copy and a late event beside the update, two first events
    assert [row[1:] for row in cells if re.match(r"\d 20", row[0])] == [["2", "2"], ["3", "2"], ["2", "2"]]
    titles = re.findall('class="(.*?)" style="width:(.*?)%" title="(.*?)"', page)
    assert ("duplicate", "33.3", "duplicate: 1") in titles and ("stale", "33.3", "stale: 1") in titles
    assert "src=" not in page and "http" not in page and "<script" not in page
    assert project.batches("orders_ledger") == before


@pytest.mark.full
def test_it_says_what_is_wrong(reported, monkeypatch, tmp_path: Path, capsys) -> None:
    for name, said in (
        ("stg", "status needs a model with settings in config"),
        ("sums", "no ledger of the project: sums"),
        ("orders", "one of: orders_ledger"),
    ):
        assert _make(reported[0], monkeypatch, tmp_path / "none.html", name) == 1
        assert said in capsys.readouterr().err
    assert not (tmp_path / "none.html").exists()


@pytest.mark.full
def test_bytes_are_told_by_what_readers_see_of_them(reported, monkeypatch, tmp_path: Path) -> None:
    project = reported[0]
    project.run("run", "--select", "sums")
    project.run("run-operation", "collapsing.optimize", "--args", "{model: orders_ledger, keep_batches: 1}")
    assert _make(project, monkeypatch, tmp_path / "ledgers.html", "orders_ledger") == 0
    page = (tmp_path / "ledgers.html").read_text()
    assert _tiles(page)["slowest projection"] == "up to date"
    # two states, two blocks and three commits; of batch 3 two rows and three notes; of each batch before it two and two
    stored = {row[0]: row[-1] for row in _cells(page) if row[0] in ("compacted", "batches", "no longer read")}
    assert stored == {"compacted": "7", "batches": "5", "no longer read": "8"}


def _page(out: Path, runs: list[dict], name: str = "orders_ledger") -> str:
    status = {"rows": 1, "live": 1, "tombstones": 0, "rejects": 0, "unread_blocks": None}
    ledger = {"name": name, "status": status, "runs": runs, "projections": [], "rejects": [], "storage": []}
    report.write_page(out, "ledgers.html", ledgers=[ledger], project="shop")
    return out.read_text()


def _run(batch: int, read: int, act: str = "run") -> dict:
    appended = {"states": read, "cancels": 0, "tombstones": 0}
    return {"batch": batch, "act": act, "started_at": "2026-11-29 10:00", "decisions": {"applied": read}, "appended": appended}


def test_batches_that_were_undone_are_named_and_a_first_load_leaves_the_others_their_bars(tmp_path: Path) -> None:
    page = _page(tmp_path / "page.html", [_run(1, 90_000), *(_run(n, 100 * n, "undone" if n > 3 else "run") for n in (2, 3, 4))])
    batches = [row for row in _cells(page) if "10:00" in row[0]]
    assert [row[0].partition(" ")[::2] for row in batches] == [
        ("4", "2026-11-29 10:00 undone"),
        ("3", "2026-11-29 10:00"),
        ("2", "2026-11-29 10:00"),
        ("1", "2026-11-29 10:00"),
    ]
    assert batches[-1][1] == "90,000" and page.count("class=cut") == 2 and "fades out" in page
    assert re.findall('class="applied" style="width:(.*?)%', page) == ["100.0", "75.0", "50.0", "100.0"]


def test_what_comes_from_the_data_is_escaped(tmp_path: Path) -> None:
    page = _page(tmp_path / "page.html", [], "<b>&amp;")
    assert "&lt;b&gt;&amp;amp;" in page and "<b>&" not in page


def test_decisions_are_counted_under_the_names_of_the_legend() -> None:
    counts = report.counted({"applied": 3, "tie": 1, "null_key": 2})
    assert {name: count for name, count in counts.items() if count} == {"applied": 3, "tie": 1, "bad": 2}
    assert set(report.counted({}).values()) == {0}
