"""The servers of scripts/cluster, beyond what the suites of every target run on them."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import pytest

from support.dbt_project import VIEW, model, stranger_files, write_files
from support.processes import done, reader, server_environment, start_dbt
from support.streams import check_streams, collect, streams
from support.targets import SERVERS

pytestmark = pytest.mark.only(*SERVERS)
BLOCKS, STREAMS = 2, 40
EVENTS = "stream int, id int, version int, is_deleted boolean, place string, amount int, price decimal(38, 18)"


def test_the_servers_can_load_the_functions_of_hive(spark) -> None:
    """Thrift loads them when a session ends beside others. Where a class is missing that session fails, and later ones hang."""
    loaded = "select reflect('org.apache.hadoop.hive.ql.exec.FunctionRegistry', 'getFunctionNames')"
    assert "get_splits" in spark.sql(loaded).first()[0]


def shards(landing: Path) -> dict[str, str]:
    """Return a project of two ledgers with half of the keys each, a projection of each, and a union of both."""
    row = f"from_json(value, '{EVENTS}') as staged, _metadata.file_name as block"
    files = {"models/events.sql": VIEW + f"select staged.*, block from (select {row} from text.`{landing}`)"}
    ledger = {"key": ["stream", "id"], "version": "version", "is_deleted": "is_deleted", "block": "block"}
    of_place = {"n": "count(*)", "total": "sum(amount)", "amounts": "count(amount)", "price": "sum(price)"}
    for shard in (0, 1):
        half = f"select * from {{{{ ref('events') }}}} where pmod(xxhash64(stream, id), 2) = {shard}"
        files[f"models/events_{shard}.sql"] = VIEW + half
        files[f"models/events_{shard}_ledger.sql"] = model(f"ledger(ref('events_{shard}'))", ledger)
        files[f"models/places_{shard}_projection.sql"] = model(
            f"projection(ref('events_{shard}_ledger'))", {"group_by": ["place"], "measures": of_place}
        )
    for live, of in {"live_events": "events_{}_ledger", "live_shards": "places_{}_projection"}.items():
        finals = [f"select * from {{{{ collapsing.final(ref('{of.format(shard)}')) }}}}" for shard in (0, 1)]
        files[f"models/{live}.sql"] = VIEW + " union all ".join(finals)
    files["models/live_places.sql"] = VIEW + (
        "select place, sum(n) as n, sum(total) as total, sum(total) / nullif(sum(amounts), 0) as mean, sum(price) as price"
        " from {{ ref('live_shards') }} group by place"
    )
    return files


def test_two_processes_fold_half_of_the_keys_each_at_the_same_time(target: str, tmp_path: Path) -> None:
    landing, folder, name = tmp_path / "landing", tmp_path / "project", f"shards_{target}_{os.getpid()}"
    landing.mkdir()
    write_files(folder, stranger_files(name) | shards(landing))
    environment = server_environment(target) | {"DBT_LOG_PATH": str(tmp_path / "logs")}
    drawn, overlaps = collect(streams(BLOCKS), STREAMS, random_seed=20261123), []
    done(start_dbt(folder, environment, "deps"))
    for number in range(BLOCKS):
        events = [{"stream": place} | asdict(event) for place, blocks in enumerate(drawn) for event in blocks[number]]
        (tmp_path / "next").write_text("".join(json.dumps(event, default=str) + "\n" for event in events))
        shutil.move(tmp_path / "next", landing / f"b{number}.json")
        if number == 0:
            done(start_dbt(folder, environment, "run", "--select", "events", "events_0", "events_1"))
        places = [tmp_path / f"shard_{shard}" for shard in (0, 1)]
        runs = []
        for shard, place in enumerate(places):
            selected = ["--select", f"events_{shard}_ledger", f"places_{shard}_projection", "--target-path", str(place)]
            runs.append(start_dbt(folder, environment, "run", "--write-json", *selected))
        done(*runs)
        overlaps.append(_overlap(places))
        if number == 0:
            done(start_dbt(folder, environment, "run", "--select", "live_events", "live_shards", "live_places"))
            rows = reader(target, name)
        check_streams(rows, drawn, number + 1)
    print(f"seconds in which both processes wrote their ledgers: {overlaps}")
    assert max(overlaps) > 0, f"the runs were never at it at the same time: {overlaps}"
    rows(f"drop schema {name} cascade")


def _overlap(places: list[Path]) -> float:
    """Return for how many seconds both runs with these target folders were building their ledgers; below 0: how far apart."""
    spans = []
    for place in places:
        results = json.loads((place / "run_results.json").read_text())["results"]
        timing = next(result["timing"] for result in results if result["unique_id"].endswith("_ledger"))
        spans.append([datetime.fromisoformat(timing[-1][end].removesuffix("Z")) for end in ("started_at", "completed_at")])
    return (min(end for _, end in spans) - max(start for start, _ in spans)).total_seconds()
