"""scripts/bench: its command line, and the figures that it keeps and puts into the page. Nothing here starts Spark."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from rich.console import Console

import bench
import options
import page
from page import filled, picture, rows, table
from results import COSTS, Comparison, Results
from turns import compare

pytestmark = pytest.mark.only("parquet")

REPOSITORY = Path(__file__).parents[2]
OTHER, OURS = "row_number | the stage", "final"


@pytest.fixture
def results() -> Results:
    ways = {
        OTHER: {"seconds": [4.0, 9.0, 6.0], "CPU seconds": [8.0, 8.0, 9.0], "rows read": [2e6, 2e6, 2e6]},
        OURS: {"seconds": [2.0, 3.0, 1.0], "CPU seconds": [3.0, 3.0, 3.0], "rows read": [0.0, 0.0, 0.0]},
    }
    machine = {"date": "2026-11-23", "cores": 2, "memory": "24 GiB", "system": "Linux"}
    machine |= {"Spark": "4.1.4", "Java": "17.0.15", "driver": "4g"}
    setting = {"scale": "default", "rows": 20_000, "rounds": 3}
    return Results("final", "parquet", setting, machine, [Comparison("Every row", OURS, ways, OURS)])


def test_a_table_has_seconds_the_median_of_ratios_and_the_costs_that_were_measured(results: Results) -> None:
    assert results.comparisons[0].table() == [
        ["", "least, s", "median, s", "most, s", "ratio", "the package", "CPU, s", "rows read"],
        [OTHER, "4.00", "6.00", "9.00", "3.00", "won", "8", "2,000,000"],
        [OURS, "1.00", "2.00", "3.00", "1.00", "", "3", "0"],
    ]


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [([2.0, 2.0, 9.0], "won"), ([1.04, 1.04, 9.0], "even"), ([0.96, 0.96, 0.1], "even"), ([0.5, 0.5, 9.0], "lost")],
)
def test_a_table_says_against_whom_the_package_has_won_and_lost(seconds: list[float], verdict: str) -> None:
    ways = {"a peer": {"seconds": seconds}, "another": {"seconds": [1.0, 1.0, 1.0]}, OURS: {"seconds": [1.0, 1.0, 1.0]}}
    assert [row[5] for row in Comparison("Every row", "another", ways, OURS).rows()] == [verdict, "even", ""]
    assert "the package" not in Comparison("Every row", "another", ways).table()[0]


def _bench() -> SimpleNamespace:
    """Return what stands in for a session: a meter that says of each work which one it was."""
    number = itertools.count(1)
    meter = SimpleNamespace(begin=lambda: None, end=lambda: {"seconds": float(next(number))})
    return SimpleNamespace(meter=lambda: meter, console=Console(quiet=True))


def test_ways_take_turns_and_the_first_round_warms_up(results: Results) -> None:
    heard: list[str] = []
    ways = {name: lambda name=name: heard.append(name) for name in ("a", "b", "c")}
    found = compare(
        _bench(), results, "Three ways", ways, rounds=2, before=lambda: heard.append("<"), after=lambda: heard.append(">")
    )
    assert "".join(heard) == "<abc><bca><cab>"
    assert found == Comparison(
        "Three ways", "c", {way: {"seconds": times} for way, times in {"a": [6, 8], "b": [4, 9], "c": [5, 7]}.items()}
    )
    assert results.comparisons[-1] is found


def test_no_time_counts_when_answers_differ(results: Results) -> None:
    before = list(results.comparisons)
    ways = {"a": lambda: [("x", 1)], "b": lambda: [("x", 2)]}
    with pytest.raises(RuntimeError, match="Two ways: the answers differ"):
        compare(_bench(), results, "Two ways", ways)
    assert results.comparisons == before
    compare(_bench(), results, "Two ways", ways, same_answer=False)


def test_figures_come_back_as_they_were_written(results: Results, tmp_path: Path) -> None:
    file = results.write(tmp_path / "results")
    assert file.name == "final-parquet-default-20000-3.json"
    assert Results.read(file) == results
    assert '"seconds": [ 4.0, 9.0, 6.0 ]' in file.read_text()


def test_another_file_is_no_figures(tmp_path: Path) -> None:
    for text in ("{", "[]", '{"measure": "final"}', '{"comparisons": [{"title": "a"}]}'):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(ValueError, match="other.json has no figures of scripts/bench"):
            Results.read(tmp_path / "other.json")


MARKS = "<!-- bench: {0} -->\n{1}\n<!-- end of {0} -->"
HEAD = "|measured|format|this|seconds|beside|seconds|ratio (rounds)|the package|\n|---|---|---|--:|---|--:|--:|---|\n"


def test_the_page_takes_figures_between_their_marks_and_keeps_the_rest(results: Results) -> None:
    page = "Before.\n\n" + "\n\nBetween.\n\n".join(MARKS.format(name, "old") for name in ("summary", "final", "day")) + "\n"
    once, pictures = filled(page, [results])
    assert filled(once, [results]) == (once, pictures)
    assert "2026-11-23. 2 cores, 24 GiB" in once
    assert "Comparisons with others: 1 won, 0 even, 0 lost." in once
    line = "|Every row|plain parquet|row_number &#124; the stage|6.00 (4.00)|final|2.00 (1.00)|3.00 (3)|won|"
    assert f"![Ratios of final](assets/benchmarks/final.svg)\n\n{HEAD}{line}\n" in once
    assert once.endswith("Between.\n\n<!-- bench: day -->\n<!-- end of day -->\n")  # what has no figures has no rows


def test_rows_of_a_title_stand_together_and_say_what_is_lost_and_what_was_counted(results: Results) -> None:
    lost = {OTHER: {"seconds": [1.0]}, OURS: {"seconds": [2.0]}}
    alone = {OURS: {"seconds": [2.0], "peak MB": [5000.4]}}
    counted = {"200": {"seconds": [2.0], "files of its batch": [3]}, "4": {"seconds": [1.0], "files of its batch": [2]}}
    setting = results.setting | {"partitions": 200}
    delta = Results("final", "delta", setting, results.machine, [Comparison("Rows", OURS, lost, OURS)])
    results.comparisons = [
        Comparison("Rows, 200 shuffle partitions", OURS, lost, OURS),
        Comparison("Of it upkeep", OURS, lost, OURS),
        Comparison("Memory", OURS, alone, OURS),
        Comparison("Small", "4", counted),
    ]
    found = [line.strip("|").split("|") for line in table(rows([delta, results])).splitlines()[2:]]
    assert [cells[0] for cells in found] == ["Rows, 200 shuffle partitions", "Delta", "Memory", "Small"]
    assert [cells[-1] for cells in found] == ["**lost**", "**lost**", "peak MB: 5,000", "files of its batch: 3, 2"]


def test_a_picture_has_a_bar_for_each_row_to_the_right_where_the_package_has_won(results: Results) -> None:
    won = rows([results])
    results.comparisons[0].ways[OTHER]["seconds"] = [0.1, 0.1, 0.1]
    drawing = ElementTree.fromstring(picture("final", won + rows([results])))
    bars = list(drawing.iter("{http://www.w3.org/2000/svg}rect"))
    middle = float(next(drawing.iter("{http://www.w3.org/2000/svg}line")).get("x1"))
    assert [bar.get("class") for bar in bars] == ["won", "lost"]
    assert [float(bar.get("x")) >= middle for bar in bars] == [True, False]


def test_figures_without_marks_are_refused(results: Results) -> None:
    with pytest.raises(ValueError, match="no marks for final; it has them for day"):
        filled(MARKS.format("day", ""), [results])


@pytest.mark.parametrize(
    ("setting", "said"), [({"scale": "smoke"}, "are those of --scale smoke"), ({"run": "unfinished"}, "did not come to its end")]
)
def test_figures_that_mean_nothing_are_refused(results: Results, tmp_path: Path, monkeypatch, setting: dict, said: str) -> None:
    monkeypatch.setattr(page, "KEPT", tmp_path / "kept")
    page.keep(results.write(tmp_path))
    assert page.kept() == [results]
    results.setting |= setting
    with pytest.raises(ValueError, match=said):
        page.keep(results.write(tmp_path))


def test_the_page_is_what_the_kept_figures_give() -> None:
    """After a change to them: scripts/bench page."""
    text = page.PAGE.read_text(encoding="utf-8")
    assert filled(text, page.kept()) == (text, {file.stem: file.read_text() for file in page.PICTURES.glob("*.svg")})
    assert [mark["name"] for mark in page.MARKED.finditer(text)] == ["summary", *options.MEASURES]


def test_a_run_that_is_stopped_leaves_the_figures_of_a_whole_one(results: Results, tmp_path: Path, monkeypatch) -> None:
    def stop(_: object, begun: Results) -> None:
        begun.comparisons += results.comparisons
        raise KeyboardInterrupt

    session = SimpleNamespace(drop=lambda: None, use_partitions=lambda _: None, console=Console(quiet=True))
    monkeypatch.setitem(sys.modules, "session", SimpleNamespace(Bench=lambda *_: session))
    monkeypatch.setitem(options.MEASURES, "final", SimpleNamespace(run=stop))
    monkeypatch.setattr(options, "read", lambda: ("parquet", {"final": {"scale": "smoke", "rows": 5}}))
    monkeypatch.setattr(bench, "_machine", lambda _: {})
    monkeypatch.setenv("COLLAPSING_LOCAL", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        bench.main()
    assert ended.value.code == 130
    assert [file.name for file in (tmp_path / "results").glob("*.json")] == ["final-parquet-smoke-5-unfinished.json"]


def test_a_measure_has_all_scales_and_stands_in_the_help() -> None:
    said = subprocess.run([REPOSITORY / "scripts" / "bench", "--help"], capture_output=True, text=True, check=True).stdout
    for name, measure in options.MEASURES.items():
        assert tuple(measure.SIZES) == options.SCALES
        assert len({tuple(sizes) for sizes in measure.SIZES.values()}) == 1
        assert re.search(rf"^  {name}  ", said, re.MULTILINE)
        (sizes,) = re.findall(rf"^  {name} +(\d.*)$", said, re.MULTILINE)
        for scale, stated in zip(options.SCALES, re.split(r" {2,}", sizes), strict=True):
            told = {int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", stated)}
            kinds = [size for size in ("rows", "batch", "batches", "blocks") if size in measure.SIZES[scale]]
            assert told == {measure.SIZES[scale][size] for size in kinds}, name


def test_every_cost_stands_in_the_help() -> None:
    said = (REPOSITORY / "scripts" / "bench").read_text()
    assert [cost for cost in COSTS if not re.search(rf"^  {cost.removesuffix(' seconds')}  ", said, re.MULTILINE)] == []


def test_options_take_the_place_of_single_numbers_of_a_scale() -> None:
    given = ["--scale", "smoke", "--rows", "5", "--order", "time", "--warm-up", "9", "--target", "delta", "--partitions", "200"]
    target, settings = options.read(["merge", *given])
    assert target == "delta"
    of_scale = {"scale": "smoke"} | options.MEASURES["merge"].SIZES["smoke"]
    assert settings == {"merge": of_scale | {"rows": 5, "order": "time", "warm_up": 9, "partitions": 200}}


def test_without_a_name_all_are_measured() -> None:
    assert list(options.read(["--rounds", "1"])[1]) == list(options.MEASURES)


def test_peers_are_chosen_for_the_measures_that_have_some() -> None:
    settings = options.read(["--target", "delta", "--peers", "merge"])[1]
    assert {name for name, setting in settings.items() if setting.get("peers") == "merge"} == {"merge", "first-load"}
    assert "growth" in settings


WRONG_OPTIONS = {
    "speed": "there is no measure speed; there are merge, growth",
    "final --rows 0": "--rows must be 1 or more",
    "merge --deletes 100": "--deletes is a percentage, from 0 to 99",
    "old-blocks --target delta": "old-blocks is measured on plain parquet alone, not on delta",
    "merge final --blocks 9": "--blocks is no option of merge, final",
    "merge --warm-up 0": "--warm-up must be 1 or more",
    "merge final --batch 9": "--batch is no option of final",
    "merge --scale tiny": "invalid choice: 'tiny'",
    "merge --peers flink": "invalid choice: 'flink'",
    "--target iceberg --peers feed": "--peers of merge on iceberg is all, merge, rewrite, append",
}


def test_a_wrong_option_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in WRONG_OPTIONS.items():
        with pytest.raises(SystemExit):
            options.read(arguments.split())
        assert said in capsys.readouterr().err
