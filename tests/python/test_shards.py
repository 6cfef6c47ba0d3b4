"""Shards: a ledger's keys split over several runs of dbt, each with tables of its own, read as one."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, astuple
from datetime import datetime
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from support.dbt_project import VIEW, DbtProject, given, model, stranger_files, write_files
from support.processes import done, reader, server_environment, start_dbt
from support.streams import check_streams, collect, streams
from support.targets import SERVERS

SHARDS, STREAMS, BLOCKS = 2, 40, 2
EVENTS = "id int, version int, is_deleted boolean, place string, amount int, price decimal(38, 18)"
LEDGER = {"key": ["stream", "id"], "version": "version", "is_deleted": "is_deleted", "block": "block", "count_decisions": False}
BY_PLACE = {
    "group_by": ["place"],
    "measures": {
        "n": "count(*)",
        "total": "sum(amount)",
        "mean": "avg(amount)",
        "price": "sum(price)",
        "most": "max(amount)",
        "ids": "count(distinct id)",
    },
}
COMPLETE = {"collapsing.complete": given(stage="ref('events')")}
TESTS = {
    "models": [
        {"name": "by_block", "data_tests": ["collapsing.collapsed", COMPLETE]},
        {"name": "places", "data_tests": ["collapsing.equals_recompute"]},
    ]
}


def sharded(body: str, settings: dict, name: str) -> str:
    """Return the SQL of a model whose table is named for the shard of the run."""
    return f"{{{{ config(alias=collapsing.shard_name('{name}')) }}}}\n" + model(body, settings)


def project_files(stage: str) -> dict[str, str]:
    """Return a project with a ledger in shards over a stage, a projection of it, and a view over all of each."""
    return {
        "models/events.sql": VIEW + stage,
        "models/by_block.sql": sharded("ledger(ref('events'))", LEDGER | {"shards": SHARDS}, "by_block"),
        "models/places.sql": sharded("projection(ref('by_block'))", BY_PLACE, "places"),
        "models/live_events.sql": VIEW + "select * from {{ collapsing.final(ref('by_block')) }}",
        "models/live_places.sql": VIEW + "select * from {{ collapsing.final(ref('places')) }}",
        "models/tests.yml": json.dumps(TESTS),
    }


def refused_files() -> dict[str, str]:
    """Return models that a run of one shard refuses, for they would hold its rows alone, and one with a table for each shard."""
    newer = "select * from {{ collapsing.changes(ref('by_block'), after=0) }}"
    of_shard = "{{ config(materialized='view', alias=collapsing.shard_name('newer_of_shard')) }}\n"
    return {
        "models/of_all.sql": VIEW + "select * from {{ collapsing.histories([ref('by_block')]) }}",
        "models/newer.sql": VIEW + newer,
        "models/then.sql": VIEW + "select * from {{ collapsing.final(ref('by_block'), as_of=1) }}",
        "models/newer_of_shard.sql": of_shard + newer,
    }


def check_shards(rows) -> None:
    """Check that each key's rows are in one shard's tables, and that every shard has some."""
    of_all = " union all ".join(f"select {shard} as shard, stream, id from by_block__shard_{shard}" for shard in range(SHARDS))
    shards = rows(f"select count(distinct shard) from ({of_all}) group by stream, id")
    assert shards and set(shards) == {(1,)}
    assert rows(f"select count(distinct shard) from ({of_all})") == [(SHARDS,)]
    [(most, ids)] = rows("select max(most), max(ids) from live_places")
    assert rows("select max(amount) from live_events") == [(most,)]
    assert rows("select max(n) from (select count(distinct id) as n from live_events group by place)") == [(ids,)]


@pytest.fixture(scope="module")
def project(make_project) -> DbtProject:
    project = make_project("shards", project_files("select * from shards.arrived") | refused_files())
    project.sql("create schema if not exists shards")
    project.sql(f"create table shards.arrived (stream int, {EVENTS}, block string)")
    project.run("run", "--select", "events")
    return project


@pytest.fixture(scope="module")
def folded(project: DbtProject, full: bool) -> DbtProject:
    """The project after every block, each shard run after the other, one of them optimized on its way.

    By default the other one falls behind: it folds all blocks as one batch.
    """
    drawn = collect(streams(BLOCKS), STREAMS, random_seed=20261122)
    for number in range(BLOCKS):
        rows = [(place, *astuple(event), f"b{number}") for place, blocks in enumerate(drawn) for event in blocks[number]]
        frame = SparkSession.builder.getOrCreate().createDataFrame(rows, f"stream int, {EVENTS}, block string")
        frame.write.insertInto("shards.arrived")
        is_last = number == BLOCKS - 1
        for shard in range(SHARDS if full or is_last else 1):
            project.run("run", "--select", "by_block places", variables={"collapsing_shard": shard})
            if (number, shard) == (0, 0):
                said = project.fails("run", "--select", "live_events")
                assert "its table shards.by_block__shard_1 is not there. Run it for each shard first" in said
        if is_last:
            operation = ("run-operation", "collapsing.optimize", "--args", '{"model": "by_block"}')
            project.run(*operation, variables={"collapsing_shard": 0})
        if number == (0 if full else BLOCKS - 1):
            project.run("run", "--select", "live_events live_places")
        if full or is_last:
            check_streams(project.rows, drawn, number + 1)
    return project


def test_all_shards_together_give_the_one_shot_answer(folded: DbtProject) -> None:
    check_shards(folded.rows)


def test_shards_that_were_built_in_different_ways_are_not_added_up(folded: DbtProject) -> None:
    path = "shards.places__shard_1"
    [(_, kept)] = folded.rows(f"show tblproperties {path} ('collapsing.projection')")
    for part, says in {
        "settings": "its table shards.places__shard_1 was built with a different group_by or different measures from those that",
        "session": "shards.places__shard_1 was built under another time zone or ANSI mode than shards.places__shard_0",
    }.items():
        changed = json.dumps(json.loads(bytes.fromhex(kept)) | {part: {"zone": "Europe/Berlin"}}).encode().hex()
        folded.sql(f"alter table {path} set tblproperties ('collapsing.projection' = '{changed}')")
        assert says in " ".join(folded.fails("run", "--select", "live_places").split())
    folded.sql(f"alter table {path} set tblproperties ('collapsing.projection' = '{kept}')")
    # a column of one shard in another type, as after a change of its stage's
    of_each = ("places", "live_places", "ledger_sign", "int"), ("by_block", "live_events", "amount", "double")
    for name, view, column, dtype in of_each:
        path, what = f"shards.{name}__shard_1", "rules" if name == "by_block" else "projection"
        [(_, kept)] = folded.rows(f"show tblproperties {path} ('collapsing.{what}')")
        folded.sql(f"alter table {path} rename to {path}_of_now")
        folded.sql(
            f"create view {path} tblproperties ('collapsing.{what}' = '{kept}') as "
            f"select * except ({column}), cast({column} as {dtype}) as {column} from {path}_of_now"
        )
        said = " ".join(folded.fails("run", "--select", view).split())
        assert f"shards.{name}__shard_1 has columns of other types ({column}) than shards.{name}__shard_0" in said
        folded.sql(f"drop view {path}")
        folded.sql(f"alter table {path}_of_now rename to {path}")


def test_a_key_is_explained_in_its_shard(folded: DbtProject) -> None:
    key = list(folded.rows("select stream, id from by_block__shard_1 limit 1")[0])
    operation, said = ("run-operation", "collapsing.explain_key", "--args", json.dumps({"model": "by_block", "key": key})), []
    folded.run(*operation, variables={"collapsing_shard": 1})
    listen = lambda event: said.append(event.info.msg)  # noqa: E731
    assert not folded.invoke(*operation, variables={"collapsing_shard": 0}, callbacks=[listen]).success
    assert "the key is in shard 1, not in shard 0: ask with --vars '{collapsing_shard: 1}'" in "".join(said)


@pytest.mark.full
def test_each_shard_passes_the_tests_of_the_package(folded: DbtProject) -> None:
    for shard in range(SHARDS):
        said = folded.run("test", variables={"collapsing_shard": shard})
        assert len(said) == 3 and set(said.values()) == {"pass"}


@pytest.mark.full
def test_a_run_that_is_not_about_one_shard_is_refused(folded: DbtProject, capsys: pytest.CaptureFixture[str]) -> None:
    say_which = (
        "its keys are split into 2 shards, each with tables of its own. Say which: --vars '{collapsing_shard: 0}', and so on to 1"
    )
    for command in (
        ("run", "--select", "by_block"),
        ("run", "--select", "places"),
        ("show", "--inline", "select * from {{ collapsing.changes(ref('by_block'), after=0) }}"),
        ("show", "--inline", "select * from {{ collapsing.decisions(ref('by_block'), ref('events')) }}"),
        ("show", "--inline", "select * from {{ collapsing.final(ref('by_block'), as_of=1) }}"),
        ("test", "--select", "places"),
    ):
        assert say_which in folded.fails(*command), command
    for operation in ("status", "unlock"):
        folded.fails("run-operation", f"collapsing.{operation}", "--args", '{"model": "by_block"}')
        assert say_which in capsys.readouterr().out, operation
    said = folded.fails("run", "--select", "by_block", variables={"collapsing_shard": 2})
    assert "collapsing_shard must be from 0 to 1, because its keys are split into 2 shards; given: 2" in said
    said = folded.fails("run", "--select", "by_block", variables={"collapsing_shard": "first"})
    assert 'collapsing_shard must be a whole number from 0; given: "first"' in said


def test_a_model_that_every_shard_would_write_is_refused(folded: DbtProject) -> None:
    """An incremental one would go on after the batches of another shard; one with a table for each shard reads its own."""
    first, reads = {"collapsing_shard": 0}, ("newer", "then")
    said = folded.failures("run", "--select", *reads)
    assert all("its keys are split into 2 shards" in said[name] for name in reads)
    ran = folded.invoke("run", "--select", "live_events", "of_all", *reads, "newer_of_shard", variables=first).result
    said = {node.node.name: str(node.message) for node in ran}
    assert "final of 'by_block' would give it the rows of shard 0 only. Build it in a run without" in said["live_events"]
    assert "histories of 'by_block' would give it the rows of shard 0 only. Build it in a run without" in said["of_all"]
    assert "changes of 'by_block' would give it the rows of shard 0 only. Give it a table for each shard" in said["newer"]
    assert "final(..., as_of) of 'by_block' would give it the rows of shard 0 only. Give it a table" in said["then"]
    assert folded.rows("select count(*) > 0 from newer_of_shard__shard_0") == [(True,)]
    fed = {"key": "id", "version": "version", "block": "block"}
    folded.write("models/fed.sql", model("ledger(ref('newer_of_shard'))", fed))
    assert "it feeds the ledger 'fed' with changes of 'by_block', whose keys are split into shards" in " ".join(
        folded.fails("run", "--select", "newer_of_shard", variables=first).split()
    )
    (folded.directory / "models" / "fed.sql").unlink()


@pytest.mark.full
def test_a_model_that_is_not_the_shards_is_refused(folded: DbtProject) -> None:
    first = {"collapsing_shard": 0}
    folded.write("models/whole.sql", model("ledger(ref('events'))", LEDGER))
    said = folded.fails("run", "--select", "whole", variables=first)
    assert "model 'whole': its keys are not split into shards (setting 'shards'), and this run writes shard 0" in said
    folded.write("models/whole.sql", model("ledger(ref('events'))", LEDGER | {"shards": SHARDS}))
    said = folded.fails("run", "--select", "whole", variables=first)
    assert (
        "every shard would write the table 'whole'. Name it for its shard: config(alias=collapsing.shard_name('whole'))" in said
    )


@pytest.mark.full
@pytest.mark.skipif(pyspark.__version__ < "4", reason="Spark has collations from 4.0 on")
def test_shards_of_a_key_with_a_collation_are_refused(folded: DbtProject) -> None:
    """Texts that are equal have different hashes: a key would be in two shards."""
    folded.write("models/lowered.sql", VIEW + "select place collate utf8_lcase as place, version, block from {{ ref('events') }}")
    settings = {"key": "place", "version": "version", "block": "block", "shards": SHARDS}
    folded.write("models/collated.sql", sharded("ledger(ref('lowered'))", settings, "collated"))
    folded.run("run", "--select", "lowered")
    said = folded.fails("run", "--select", "collated", variables={"collapsing_shard": 0})
    assert "setting 'shards' must be left out where the key has a collation" in said


@pytest.mark.full
def test_another_number_of_shards_is_refused(folded: DbtProject) -> None:
    file = "models/by_block.sql"
    folded.write(file, sharded("ledger(ref('events'))", LEDGER | {"shards": SHARDS + 1}, "by_block"))
    said = folded.fails("run", "--select", "by_block", variables={"collapsing_shard": 0})
    assert "its rows were folded by other settings: 'shards' was 2 and is 3" in said
    folded.write(file, project_files("")[file])
    folded.run("run", "--select", "by_block", variables={"collapsing_shard": 0})


@pytest.mark.full
def test_a_ledger_is_rebuilt_with_another_number_of_shards(folded: DbtProject) -> None:
    """Keys move between shards, and with them blocks."""
    blocks = "select id, 1 as version, concat('b', id) as block from range(8)"
    folded.write("models/small_blocks.sql", VIEW + blocks)
    count = {"group_by": [], "measures": {"n": "count(*)"}}
    folded.write("models/resharded_sums.sql", sharded("projection(ref('resharded'))", count, "resharded_sums"))
    split = "the keys of shards.{}__shard_{} were split into 2 shards, and the setting 'shards' is 3"
    for shards, refresh in ((2, []), (3, ["--full-refresh"])):
        settings = {"key": "id", "version": "version", "block": "block", "shards": shards}
        folded.write("models/resharded.sql", sharded("ledger(ref('small_blocks'))", settings, "resharded"))
        for shard in reversed(range(shards)):
            folded.run("run", *refresh, "--select", "small_blocks", "resharded", variables={"collapsing_shard": shard})
            if shard == 1 and refresh:
                assert split.format("resharded", 0) in folded.fails("run", "--select", "live_resharded")
        if refresh:
            folded.run("run", "--select", "resharded_sums", variables={"collapsing_shard": 2})
            assert split.format("resharded_sums", 0) in folded.fails("run", "--select", "live_resharded_sums")
        for shard in range(shards):
            folded.run("run", "--select", "resharded_sums", variables={"collapsing_shard": shard})
        for name in ("resharded", "resharded_sums"):
            folded.write(f"models/live_{name}.sql", f"{VIEW}select * from {{{{ collapsing.final(ref('{name}')) }}}}")
        folded.run("run", "--select", "live_resharded", "live_resharded_sums")
        assert folded.rows("select id from live_resharded order by id") == [(number,) for number in range(8)]
        assert folded.rows("select n from live_resharded_sums") == [(8,)]


@pytest.mark.full
def test_a_column_that_not_every_shard_has_yet_is_left_out(folded: DbtProject) -> None:
    path, widened = "models/resharded.sql", "{{ config(on_schema_change='append_new_columns') }}\n"
    folded.write(path, widened + (folded.directory / path).read_text())
    stage = "select id, 1 as version, concat('b', id) as block, 'new' as extra from range(9)"
    folded.write("models/small_blocks.sql", VIEW + stage)
    columns = {"id", "version"}
    for shard in range(3):
        folded.run("run", "--select", "small_blocks", "resharded", variables={"collapsing_shard": shard})
        folded.run("run", "--select", "live_resharded")
        assert set(folded.sql("select * from live_resharded").columns) == columns | ({"extra"} if shard == 2 else set())
    assert folded.rows("select extra from live_resharded where id = 8") == [("new",)]


@pytest.mark.only(*SERVERS)
def test_processes_at_the_same_time_write_a_shard_each(target: str, tmp_path: Path) -> None:
    landing, folder, name = tmp_path / "landing", tmp_path / "project", f"shards_{target}_{os.getpid()}"
    landing.mkdir()
    row = f"from_json(value, 'stream int, {EVENTS}') as staged, _metadata.file_name as block"
    write_files(
        folder,
        stranger_files(name) | project_files(f"select staged.*, block from (select {row} from text.`{landing}`)"),
    )
    environment = server_environment(target) | {"DBT_LOG_PATH": str(tmp_path / "logs")}

    drawn, overlaps = collect(streams(BLOCKS), STREAMS, random_seed=20261123), []
    done(start_dbt(folder, environment, "deps"))
    for number in range(BLOCKS):
        events = [{"stream": place} | asdict(event) for place, blocks in enumerate(drawn) for event in blocks[number]]
        (tmp_path / "next").write_text("".join(json.dumps(event, default=str) + "\n" for event in events))
        shutil.move(tmp_path / "next", landing / f"b{number}.json")
        if number == 0:
            done(start_dbt(folder, environment, "run", "--select", "events"))
        ran = ["run", "--write-json", "--select", "by_block", "places", "--vars"]
        places = [tmp_path / f"shard_{shard}" for shard in range(SHARDS)]
        done(
            *(
                start_dbt(folder, environment, *ran, f"{{collapsing_shard: {shard}}}", "--target-path", str(place))
                for shard, place in enumerate(places)
            )
        )
        overlaps.append(_overlap(places))
        if number == 0:
            done(start_dbt(folder, environment, "run", "--select", "live_events", "live_places"))
            rows = reader(target, name)
        check_streams(rows, drawn, number + 1)
        check_shards(rows)
    print(f"seconds in which all shards wrote the ledger: {overlaps}")
    assert max(overlaps) > 0, f"the runs were never at it at the same time: {overlaps}"
    rows(f"drop schema {name} cascade")


def _overlap(places: list[Path]) -> float:
    """Return for how many seconds the runs with these target folders were building the ledger at once; below 0: how far apart."""
    spans = []
    for place in places:
        results = json.loads((place / "run_results.json").read_text())["results"]
        timing = next(result["timing"] for result in results if result["unique_id"].endswith(".by_block"))
        spans.append([datetime.fromisoformat(timing[-1][end].removesuffix("Z")) for end in ("started_at", "completed_at")])
    return (min(end for _, end in spans) - max(start for start, _ in spans)).total_seconds()
