"""Wrong settings: each is an error that names the model, the setting, what is allowed and what was given."""

from __future__ import annotations

import pytest

from support.dbt_project import LEDGER, model, nodes_of

WRONG_SETTINGS = {
    "no_settings": ("ledger(ref('stage'))", {}, "a ledger needs settings"),
    "unknown": ("ledger(ref('stage'))", LEDGER | {"keys": "id"}, "unknown setting 'keys'; allowed: engine, key, version"),
    "no_key": ("ledger(ref('stage'))", {"version": "version"}, "setting 'key' must be a column or a list of columns"),
    "no_version": ("ledger(ref('stage'))", {"key": "id"}, "setting 'version' must be a column"),
    "wrong_engine": (
        "ledger(ref('stage'))",
        LEDGER | {"engine": "merge"},
        "setting 'engine' must be one of: versioned_collapsing",
    ),
    "wrong_key": ("ledger(ref('stage'))", LEDGER | {"key": ["id", 7]}, "setting 'key' must be a column or a list"),
    "key_twice": ("ledger(ref('stage'))", LEDGER | {"key": ["id", "id"]}, "a list of different columns"),
    "no_such_column": ("ledger(ref('stage'))", LEDGER | {"key": "order_id"}, "setting 'key' must be a column of the stage"),
    "two_deletes": ("ledger(ref('stage'))", LEDGER | {"sign": "sign"}, "'sign' and 'is_deleted' both say"),
    "wrong_deletes": (
        "ledger(ref('stage'))",
        LEDGER | {"deletes": "never"},
        "must be one of: versioned, unversioned; given: never",
    ),
    "undeletable": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "deletes": "unversioned"},
        "needs 'sign' or 'is_deleted'",
    ),
    "combined_key": ("ledger(ref('stage'))", LEDGER | {"combine": {"id": "old.id"}}, "cannot merge 'id'"),
    "wrong_combine": ("ledger(ref('stage'))", LEDGER | {"combine": ["id"]}, "setting 'combine' must be a mapping"),
    "deduplicated": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "deduplicating", "version": "version"},
        "says nothing to the engine",
    ),
    "unordered": ("ledger(ref('stage'))", {"key": "id", "engine": "collapsing"}, "setting 'order_by' must be a column"),
    "unordered_winner": ("ledger(ref('stage'))", {"key": "id", "engine": "replacing"}, "setting 'order_by' must be a column"),
    "versioned_arrival": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "collapsing", "order_by": "version", "version": "version"},
        "setting 'version' says nothing to the engine collapsing",
    ),
    "unsigned": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "input": "signed"},
        "setting 'sign' must be a column (the engine versioned_collapsing with input: signed needs it",
    ),
    "signed_deletes": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "input": "signed", "sign": "sign", "deletes": "unversioned"},
        "setting 'deletes' says nothing to the engine versioned_collapsing with input: signed",
    ),
    "signed_replacing": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "replacing", "version": "version", "input": "signed", "sign": "sign"},
        "replacing has no cancel rows",
    ),
    "rejecting_whole": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "on_bad_rows": "reject"},
        "setting 'on_bad_rows: reject' needs 'block'",
    ),
    "partitioned": ("ledger(ref('stage'))", LEDGER | {"partition_by": "day"}, "setting 'partition_by' says nothing"),
    "combined_again": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "collapsing", "order_by": "version", "combine": {"day": "old.day"}},
        "setting 'combine' of the engine collapsing needs 'block'",
    ),
    "one_shard": ("ledger(ref('stage'))", LEDGER | {"shards": 1}, "'shards' must be a whole number from 2 to 1000; given: 1"),
    "our_column": ("ledger(ref('our_names'))", LEDGER, "'ledger_sign' begins with ledger_"),
    "no_stage": ("ledger(ref('floating'))", LEDGER, "must be a table or a view that exists"),
    "no_measures": ("projection(ref('good'))", {"group_by": ["shop"]}, "needs 'group_by' and 'measures'"),
    "wrong_measure": ("projection(ref('good'))", {"group_by": [], "measures": {"x": "median(id)"}}, "given: median(id)"),
    "two_in_one": (
        "projection(ref('good'))",
        {"group_by": [], "measures": {"x": "sum(id) + sum(id)"}},
        "given: sum(id) + sum(id)",
    ),
    "same_name": (
        "projection(ref('good'))",
        {"group_by": ["id"], "measures": {"id": "sum(id)"}},
        "names both a group and a measure",
    ),
    "our_name": ("projection(ref('good'))", {"group_by": [], "measures": {"ledger_x": "sum(id)"}}, "begins with ledger_"),
    "of_winners": (
        "projection(ref('winners'))",
        {"group_by": [], "measures": {"n": "count(*)"}},
        "the ledger 'winners' has the engine replacing: it has no cancel rows",
    ),
    "of_sums": (
        "projection(ref('sums'))",
        {"group_by": [], "measures": {"n": "count(*)"}},
        "'sums' is a projection",
    ),
    "of_stage": ("projection(ref('stage'))", {"group_by": [], "measures": {"n": "count(*)"}}, "'stage' is none"),
    "no_number": ("projection(ref('good'))", {"group_by": [], "measures": {"x": "sum(day)"}}, "adds values of type date"),
}


@pytest.fixture(scope="module")
def wrong_settings(make_project):
    """A project with one wrong model each; gives {model: what dbt said}."""
    stage = "1 as id, 1 as version, false as is_deleted, 1 as sign, date'2013-01-01' as day, 'b' as block, 'x' as decision"
    files = {
        "models/stage.sql": f"{{{{ config(materialized='view') }}}}\nselect {stage}",
        "models/winners.sql": model("ledger(ref('stage'))", {"key": "id", "engine": "replacing", "version": "version"}),
        "models/sums.sql": model("projection(ref('good'))", {"group_by": [], "measures": {"n": "count(*)"}}),
        "models/no_partitions.sql": "select * from {{ collapsing.final(ref('winners'), across_partitions=false) }}",
        "models/decided_sums.sql": "select * from {{ collapsing.decisions(ref('sums'), ref('stage')) }}",
        "models/our_names.sql": f"{{{{ config(materialized='view') }}}}\nselect {stage}, 1 as ledger_sign",
        "models/floating.sql": f"{{{{ config(materialized='ephemeral') }}}}\nselect {stage}",
        "models/good.sql": model("ledger(ref('stage'))", LEDGER),
        "models/no_final.sql": "select * from {{ collapsing.final(ref('stage')) }}",
        "models/wrong_as_of.sql": "select * from {{ collapsing.final(ref('good'), as_of='monday') }}",
        "models/wrong_after.sql": "select * from {{ collapsing.changes(ref('good'), after='monday') }}",
    }
    files |= {f"models/{name}.sql": model(body, settings) for name, (body, settings, _) in WRONG_SETTINGS.items()}
    project = make_project("wrong_settings", files)
    result = project.invoke("run")
    return {node.node.name: str(node.message) for node in nodes_of(result) if str(node.status) == "error"}


@pytest.mark.parametrize("name", WRONG_SETTINGS)
def test_a_wrong_setting_is_an_error_that_names_model_and_setting(wrong_settings, name: str) -> None:
    assert f"collapsing: model '{name}'" in wrong_settings[name]
    assert WRONG_SETTINGS[name][2] in " ".join(wrong_settings[name].split())


def test_models_beside_wrong_ones_are_built(wrong_settings) -> None:
    assert not {"stage", "winners", "good", "sums"} & set(wrong_settings)


def test_final_and_changes_refuse_what_they_cannot_read(wrong_settings) -> None:
    assert "model 'stage': final needs a model with settings" in wrong_settings["no_final"]
    assert "as_of must be a batch number; given: monday" in wrong_settings["wrong_as_of"]
    assert "changes needs 'after'" in wrong_settings["wrong_after"]
    assert "this is a ledger without the setting 'partition_by'" in wrong_settings["no_partitions"]
    assert "decisions needs a ledger and its stage; this is a projection" in wrong_settings["decided_sums"]
