"""scripts/report: a page about a project's ledgers that says what is true of them, and refers to nothing else."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import sys
from pathlib import Path

import pytest

from support.dbt_project import LEDGER, REPOSITORY, VIEW, model

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
def report():
    specification = importlib.util.spec_from_file_location("ledger_report", REPOSITORY / "scripts" / "report.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


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


def test_a_first_run_of_a_projection_does_not_speak_of_rebuilding(reported) -> None:
    assert any("batch 1" in line for line in reported[1])
    assert [line for line in reported[1] if "rebuilding it" in line] == []


def _make(report, project, monkeypatch, out: Path, *more: str) -> int:
    given = ["--project-dir", str(project.directory), "--profiles-dir", str(project.directory), "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["report", *given, *more])
    return report.main()


def test_the_page_says_what_the_ledger_holds(report, reported, monkeypatch, tmp_path: Path) -> None:
    project = reported[0]
    before = project.batches("orders_ledger")
    assert _make(report, project, monkeypatch, tmp_path / "ledgers.html") == 0
    page = (tmp_path / "ledgers.html").read_text()
    tiles = dict(re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)", page))
    # +1 +2 | -1 +1 | -2 0: six rows, one of them live, and a tombstone
    seen = {
        name: tiles[name] for name in ("batches", "live rows", "dead rows", "tombstones", "slowest projection", "rejected rows")
    }
    expected = {
        "batches": "3",
        "live rows": "1",
        "dead rows": "4",
        "tombstones": "1",
        "slowest projection": "1",
        "rejected rows": "1",
    }
    assert seen == expected
    cells = re.sub(r' data-column="[^"]*"', "", page)
    assert re.search(r"<td>sums</td><td class=number>2</td><td class=number>1</td><td class=number>2</td>", cells)
    assert "<td>null_key</td><td class=number>1</td>" in cells
    assert "duplicate 1<" in page and "stale 1<" in page
    assert "src=" not in page and "http" not in page and "<script" not in page
    assert "position: absolute" not in page  # it would widen the page beyond a narrow screen
    assert project.batches("orders_ledger") == before


def test_a_tile_says_how_far_the_slowest_projection_is_behind(report) -> None:
    sizes = {"stored": 1, "live": 1, "tombstones": 0}
    for projections, tile in (
        ([], None),
        ([("sums", 3, 0, 2)], "up to date"),
        ([("sums", 1, 2, 2), ("days", 3, 0, 9)], "2<small>batches behind"),
    ):
        drawn = report.overview({"history": [], "sizes": sizes, "projections": projections, "rejects": [], "storage": []})
        found = re.search(r"<dt>slowest projection</dt><dd>(.*?)<", drawn.replace("<small>", "&small;"))
        assert (found and found[1].replace("&small;", "<small>")) == tile


def test_it_says_what_is_wrong(report, reported, monkeypatch, tmp_path: Path, capsys) -> None:
    assert _make(report, reported[0], monkeypatch, tmp_path / "none.html", "stg") == 1
    assert "stg is no ledger of the project, which has: orders_ledger" in capsys.readouterr().err
    assert not (tmp_path / "none.html").exists()


def test_decisions_are_counted_under_the_names_of_the_legend(report) -> None:
    counts = report.counted(json.dumps({"applied": 3, "tie": 1, "null_key": 2}))
    assert counts == {"applied": 3, "duplicate": 0, "stale": 0, "superseded": 0, "tie": 1, "other": 2}
    assert set(report.counted(None).values()) == {0}


def test_batches_that_were_undone_are_named(report) -> None:
    assert report.undone([{"batch": 1, "act": "run"}]) == ""
    runs = [{"batch": batch, "act": "undone" if batch > 2 else "run"} for batch in (1, 2, 3, 4)]
    assert report.undone(runs) == " Undone: 3, 4."


def test_bytes_are_told_by_what_readers_see_of_them(report) -> None:
    batches = [{"batch": number, "bytes": 1000, "files": 2, "stored": 3} for number in (-2, 0, 1, 2, 3, 4)]
    [drawn] = report.storage(batches, 2)
    found = re.findall(r"(compacted|batches|no longer read)<.*?>(\d KB, \d files, \d rows)", drawn, re.DOTALL)
    assert found[:3] == [
        ("compacted", "1 KB, 2 files, 3 rows"),
        ("batches", "2 KB, 4 files, 6 rows"),
        ("no longer read", "3 KB, 6 files, 9 rows"),
    ]


def test_the_numbers_of_an_axis_have_one_unit(report) -> None:
    for greatest, names in ((15_000, "0, 5 k, 10 k, 15 k"), (300, "0, 100, 200, 300"), (0.3, "0, 0.1, 0.2, 0.3")):
        assert report.charts.Frame(760, 190, greatest, "rows").names == names.split(", ")


def test_a_number_that_is_rounded_up_to_the_next_unit_is_in_it(report) -> None:
    for number, shown in {
        999: ("999", "999 B"),
        9_999: ("9,999", "10 KB"),
        999_499: ("999 k", "999 KB"),
        999_999: ("1 M", "1 MB"),
        999_999_999: ("1 G", "1 GB"),
    }.items():
        assert (report.charts.short(number), report.in_bytes(number)) == shown


def test_a_line_has_no_point_where_nothing_is_known(report) -> None:
    series = [report.charts.Series("late", "blue", [1.0, math.nan, 3.0]), report.charts.Series("never", "red", [math.nan] * 3)]
    drawn, _ = report.charts.lines(["5:00", "6:00", "7:00"], series, "minutes")(760)
    assert re.findall(r"<title>(.*?)</title>", drawn) == ["5:00: late 1", "7:00: late 3"]
    assert "nan" not in drawn and "never" not in report.charts.legend(series)
