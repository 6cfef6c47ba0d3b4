"""What users of dbt do with a project, done to one that has ledgers: schemas, aliases, tags, contracts, state, sample."""

from __future__ import annotations

import json
import shutil

import pytest
from dbt.cli.main import dbtRunnerResult

from support.dbt_project import LEDGER, VIEW, DbtProject, given, messages_of, model

SUMS = {"group_by": ["shop"], "measures": {"n": "count(*)", "amount": "sum(amount)"}}
# What a block asks for once the views are there.
FOLD = ("--select", "orders_eu", "orders_us", "sums_eu", "sums_us")
# The schema that a model names is the whole name, as many projects have it.
SCHEMAS = "{% macro generate_schema_name(name, node) %}{{ name or target.schema }}{{ var('suffix', '') }}{% endmacro %}\n"
STAGED = ("id", "version", "is_deleted", "shop", "amount", "loaded_at", "block")
COLUMNS = {
    "id": "bigint",
    "version": "int",
    "shop": "string",
    "amount": "bigint",
    "loaded_at": "timestamp",
    "ledger_sign": "{{ 'int' if target.name == 'iceberg' else 'tinyint' }}",
    "ledger_block": "string",
    "ledger_note": "string",
    "ledger_batch": "int",
}
PROPERTIES = {
    "version": 2,
    "sources": [
        {
            "name": "raw",
            "schema": "consumer",
            "tables": [
                {
                    "name": "arrived",
                    "config": {
                        "event_time": "loaded_at",
                        "loaded_at_field": "loaded_at",
                        "freshness": {"error_after": {"count": 1, "period": "day"}},
                    },
                }
            ],
        }
    ],
    "models": [
        {
            "name": "orders_us",
            "config": {"contract": {"enforced": True}, "on_schema_change": "fail"},
            "columns": [{"name": name, "data_type": kind} for name, kind in COLUMNS.items()],
        },
        {
            "name": "orders_eu",
            "data_tests": ["collapsing.collapsed", {"collapsing.complete": given(stage="ref('stg_eu')")}],
        },
        {"name": "sums_eu", "data_tests": ["collapsing.equals_recompute"]},
    ],
}


def _model(kind: str, region: str, settings: dict) -> str:
    """Return a model of a region, in the region's schema, under a name that both regions have."""
    body = {"orders": f"ledger(ref('stg_{region}'))", "sums": f"projection(ref('orders_{region}'))"}[kind]
    place = f"{{{{ config(schema='consumer_{region}', alias='{kind}', tags=['{region}']) }}}}\n"
    return place + model(body, settings)


@pytest.fixture(scope="module")
def consumer(make_project) -> DbtProject:
    """A project of two regions whose tables have the same names in two schemas; one block of each is folded."""
    files = {"macros/generate_schema_name.sql": SCHEMAS, "models/properties.yml": json.dumps(PROPERTIES)}
    for region in ("eu", "us"):
        staged = f"select {', '.join(STAGED)} from {{{{ source('raw', 'arrived') }}}} where region = '{region}'"
        files |= {
            f"models/stg_{region}.sql": VIEW + staged,
            f"models/orders_{region}.sql": _model("orders", region, LEDGER),
            f"models/sums_{region}.sql": _model("sums", region, SUMS),
            f"models/live_{region}.sql": VIEW + f"select * from {{{{ collapsing.final(ref('sums_{region}')) }}}}",
        }
    files["models/sampled.sql"] = model("ledger(source('raw', 'arrived'))", LEDGER | {"key": ["region", "id"]})
    project = make_project("consumer", files)
    project.sql("create schema if not exists consumer")
    columns = "id bigint, version int, is_deleted boolean, shop string, amount bigint, loaded_at timestamp, block string"
    project.sql(f"create table consumer.arrived (region string, {columns}) using parquet")
    _arrive(project, "'eu', 1, 1, false, 'north', 10", "'us', 1, 1, false, 'west', 7")
    project.run("build", "--exclude", "sampled")
    return project


def _arrive(project: DbtProject, *rows: str) -> None:
    """Stage rows as the next block of their regions."""
    block = project.rows("select count(distinct block) + 1 from consumer.arrived")[0][0]
    staged = ", ".join(f"({row}, current_timestamp(), 'b{block}')" for row in rows)
    project.sql(f"insert into consumer.arrived values {staged}")


def test_tables_of_one_name_in_two_schemas_keep_apart(consumer) -> None:
    """Built at the same time, by threads of one session."""
    _arrive(consumer, "'eu', 1, 2, false, 'south', 11", "'us', 1, 2, true, 'west', 7", "'us', 2, 1, false, 'west', 2")
    consumer.run("run", *FOLD)
    assert consumer.rows("select * from live_eu") == [("south", 1, 11)]
    assert consumer.rows("select * from live_us") == [("west", 1, 2)]
    for region in ("eu", "us"):
        names = {row[1] for row in consumer.rows(f"show tables in consumer_{region}")}
        assert {"orders", "sums"} == {name for name in names if name.startswith(("orders", "sums"))}
    kept = [name for _, name, is_temporary in consumer.rows("show tables in consumer") if not is_temporary]
    assert [name for name in kept if name.startswith(("orders", "sums"))] == []


@pytest.mark.full
def test_a_tag_selects_one_region(consumer) -> None:
    _arrive(consumer, "'eu', 2, 1, false, 'north', 1", "'us', 2, 2, false, 'west', 2")
    ran = consumer.run("build", "--select", "tag:eu")
    assert {"orders_eu", "sums_eu"} <= set(ran) and not {"orders_us", "sums_us"} & set(ran)
    assert consumer.visible("consumer_us.orders")[-1] == 2
    consumer.run("run", "--select", "orders_us", "sums_us")
    assert consumer.visible("consumer_us.orders")[-1] == 3
    assert consumer.rows("select * from live_us") == [("west", 1, 2)]


@pytest.fixture(scope="module")
def parsed(consumer) -> dbtRunnerResult:
    """What dbt says to a parse of the project, for which each deprecation is an error."""
    errors = ("--warn-error-options", json.dumps({"error": ["Deprecations"]}), "--show-all-deprecations")
    return consumer.invoke("parse", "--write-json", "--no-partial-parse", *errors)


@pytest.fixture(scope="module")
def state(consumer, parsed) -> str:
    """The folder that holds the project's state, as it was when it was first asked for."""
    assert parsed.success, messages_of(parsed)
    state = consumer.directory / "state"
    shutil.copytree(consumer.target, state, ignore=shutil.ignore_patterns("run", "compiled"))
    return str(state)


def test_only_what_was_modified_is_built_with_what_depends_on_it(consumer, state: str) -> None:
    consumer.write("models/sums_us.sql", _model("sums", "us", SUMS | {"measures": {"n": "count(*)", "most": "max(amount)"}}))
    ran = consumer.run("build", "--select", "state:modified+", "--state", state)
    assert set(ran) == {"sums_us", "live_us"}
    assert consumer.rows("select * from live_us") == [("west", 1, 2)]


@pytest.mark.only("delta")  # dbt-spark clones no others
def test_a_clone_reads_as_the_original_and_is_folded_upon(consumer, state: str) -> None:
    copies = {"suffix": "_clone"}
    consumer.run("clone", "--state", state, "--select", "orders_eu", "sums_eu", variables=copies)
    consumer.run("run", "--select", "live_eu", variables=copies)
    original = consumer.rows("select * from live_eu order by all")
    assert original and consumer.rows("select * from consumer_clone.live_eu order by all") == original
    _arrive(consumer, "'eu', 5, 1, false, 'clone', 5")
    consumer.run("run", "--select", "stg_eu", "orders_eu", "sums_eu", variables=copies)
    assert consumer.rows("select * from live_eu order by all") == original
    cloned = consumer.rows("select * from consumer_clone.live_eu order by all")
    assert cloned == sorted([*original, ("clone", 1, 5)])


@pytest.mark.full
def test_a_contract_holds(consumer) -> None:
    """Where dbt checks it, which is when it creates the table."""
    wrong = json.dumps(PROPERTIES).replace(
        '{"name": "amount", "data_type": "bigint"}', '{"name": "amount", "data_type": "string"}'
    )
    consumer.write("models/properties.yml", wrong)
    _arrive(consumer, "'us', 3, 1, false, 'west', 3")
    assert "contract" in consumer.fails("run", "--full-refresh", "--select", "orders_us")
    consumer.write("models/properties.yml", json.dumps(PROPERTIES))
    consumer.run("run", "--select", "orders_us", "sums_us")
    assert consumer.rows("select * from live_us") == [("west", 2, 3)]


def test_a_sample_is_refused_where_it_would_be_taken_for_the_whole(consumer, full: bool) -> None:
    """The stage is a view: its own ref is whole. A ledger straight over a source that has an event_time would lose rows.

    What --empty leaves for the next run is shown with --full.
    """
    said = " ".join(consumer.fails("run", "--select", "sampled", "--sample", "1 day").split())
    assert "model 'sampled': under --sample it may read only a part of consumer.arrived" in said
    if full:
        consumer.run("run", "--select", "sampled")
        before = consumer.rows("select * from sampled order by all")
        _arrive(consumer, "'eu', 7, 1, false, 'north', 7", "'us', 7, 1, true, 'west', 7")
        assert consumer.run("run", "--select", "sampled", "--empty")
        assert consumer.rows("select * from sampled order by all") == before
        consumer.run("run", "--select", "sampled")
        assert consumer.rows("select count(*) from sampled where id = 7") == [(2,)]


def test_nothing_that_dbt_will_drop_is_used(parsed) -> None:
    """In a stranger's project and in this package, whose files dbt reads again for it."""
    assert parsed.success, messages_of(parsed)


def test_freshness_and_documents(consumer) -> None:
    consumer.run("source", "freshness")
    consumer.run("docs", "generate", "--write-json")
    catalog = json.loads((consumer.target / "catalog.json").read_text())
    assert {"id", "ledger_sign", "ledger_batch"} <= set(catalog["nodes"]["model.consumer.orders_eu"]["columns"])
