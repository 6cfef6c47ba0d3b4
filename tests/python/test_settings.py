"""Wrong settings and measures: each is an error that names the model, the setting, what is allowed and what was given."""

from __future__ import annotations

import pyspark
import pytest

from support.dbt_project import LEDGER, Warnings, model, nodes_of

pytestmark = pytest.mark.only("parquet")  # what is refused before anything is written

HAS_COLLATIONS = pyspark.__version__ > "4"
COLLATED = {
    "by_collated": (
        "ledger(ref('collated'))",
        LEDGER | {"key": "city"},
        "setting 'key' must be a column without a collation, in which two texts are equal only if they read alike; given: city",
    )
}
WRONG_SETTINGS = {
    "of_own_sign": (
        "projection(ref('good_signed'))",
        {"group_by": [], "measures": {"n": "sum(id * sign)"}},
        "setting 'measures.n' reads the column 'sign' of rows that carry their sign",
    ),
    "of_own_signs": (
        "projection(ref('good_signed'))",
        {"group_by": [], "measures": {"n": "count_if(sign = 1)"}},
        "setting 'measures.n' reads the column 'sign' of rows that carry their sign",
    ),
    "combined_version": (
        "ledger(ref('stage'))",
        LEDGER | {"combine": {"version": "old.version"}},
        "setting 'combine' cannot combine 'version'",
    ),
    "ordered_by_block": (
        "ledger(ref('stage'))",
        LEDGER | {"order_by": "block"},
        "setting 'order_by' orders the rows of a block: it must not name the column of the setting 'block'",
    ),
    "spelled_in_two_ways": (
        "ledger(ref('stage'))",
        LEDGER | {"combine": {"label": "old.label", "LABEL": "new.label"}},
        "settings spell the column 'LABEL' in two ways: label, LABEL",
    ),
    "key_in_capitals": (
        "ledger(ref('stage'))",
        LEDGER | {"order_by": ["day", "ID"]},
        "settings spell the column 'ID' in two ways: id, ID",
    ),
    "deleted_on": (
        "ledger(ref('stage'))",
        LEDGER | {"is_deleted": "day"},
        "setting 'is_deleted' must be a column of numbers, booleans or text; given: day, which is date",
    ),
    "without_type": ("ledger(ref('untyped'))", LEDGER, "the stage's column 'nothing' is void, a NULL without a type"),
    "without_unit": ("ledger(ref('spans'))", LEDGER, "the stage's column 'term' is interval, an interval without a unit"),
    "with_colon": ("ledger(ref('colons'))", LEDGER, "the stage's column 'book' is struct<dc:title:string>, and in the name"),
    "quoted_name": (
        "projection(ref('good'))",
        {"group_by": ["id"], "measures": {"a`b": "count(*)"}},
        'in more than upper and lower case; given: "a`b"',
    ),
    "combined_parts": (
        "ledger(ref('stage'))",
        LEDGER | {"engine": "replacing", "partition_by": "day", "combine": {"label": "new.label"}},
        "settings 'combine' and 'partition_by' exclude each other",
    ),
    "of_another_table": (
        "projection(ref('good'))",
        {"group_by": [], "measures": {"n": "sum(stored.id)"}},
        "setting 'measures.n' must be SQL that Spark can evaluate over a row; given: sum(stored.id)",
    ),
    "forgetful_parts": (
        "ledger(ref('stage'))",
        LEDGER | {"engine": "replacing", "partition_by": "day", "tombstone_retention": 5},
        "settings 'tombstone_retention' and 'partition_by' exclude each other",
    ),
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
    "two_deletes": ("ledger(ref('stage'))", LEDGER | {"sign": "sign"}, "'sign' and 'is_deleted' both mark deletes"),
    "wrong_deletes": (
        "ledger(ref('stage'))",
        LEDGER | {"deletes": "never"},
        "must be one of: versioned, unversioned; given: never",
    ),
    "undeletable": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "block": "block", "deletes": "unversioned"},
        "needs 'sign' or 'is_deleted'",
    ),
    "one_block": (
        "ledger(ref('stage'))",
        {name: of for name, of in LEDGER.items() if name != "block"} | {"deletes": "unversioned"},
        "setting 'deletes: unversioned' needs 'block'",
    ),
    "combined_key": ("ledger(ref('stage'))", LEDGER | {"combine": {"id": "old.id"}}, "cannot combine 'id'"),
    "wrong_combine": ("ledger(ref('stage'))", LEDGER | {"combine": ["id"]}, "setting 'combine' must be a mapping"),
    "listed_combine": ("ledger(ref('stage'))", LEDGER | {"combine": []}, "setting 'combine' must be a mapping"),
    "deduplicated": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "deduplicating", "version": "version"},
        "setting 'version' has no effect with engine 'deduplicating': remove it",
    ),
    "unordered": ("ledger(ref('stage'))", {"key": "id", "engine": "collapsing"}, "setting 'order_by' must be a column"),
    "unordered_winner": ("ledger(ref('stage'))", {"key": "id", "engine": "replacing"}, "setting 'order_by' must be a column"),
    "versioned_arrival": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "collapsing", "block": "block", "order_by": "version", "version": "version"},
        "setting 'version' has no effect with engine 'collapsing': remove it",
    ),
    "unsigned": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "input": "signed"},
        "setting 'sign' must be a column (the engine versioned_collapsing with input: signed needs it",
    ),
    "signed_deletes": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "block": "block", "input": "signed", "sign": "sign", "deletes": "unversioned"},
        "setting 'deletes' has no effect with engine 'versioned_collapsing with input: signed'",
    ),
    "signed_whole": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "input": "signed", "sign": "sign"},
        "setting 'block' must be a column (the engine versioned_collapsing with input: signed needs it: rows bring their own",
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
    "partitioned": (
        "ledger(ref('stage'))",
        LEDGER | {"partition_by": "day"},
        "setting 'partition_by' has no effect",
    ),
    "arrived_whole": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "collapsing", "order_by": "version"},
        "setting 'block' must be a column (the engine collapsing needs it: rows count in the order in which they arrive)",
    ),
    "winners_of_all": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "replacing", "version": "version"},
        "setting 'block' must be a column (the engine replacing needs it: the highest version wins",
    ),
    "combined_whole": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "combine": {"label": "new.label"}},
        "setting 'combine' needs 'block', the column with the block token",
    ),
    "optimized_always": (
        "ledger(ref('stage'))",
        LEDGER | {"optimize_after": 0},
        "setting 'optimize_after' must be a whole number of batches, 1 or more; given: 0",
    ),
    "optimized_by_truth": ("ledger(ref('stage'))", LEDGER | {"optimize_after": True}, "1 or more; given: true"),
    "backtick": ("ledger(ref('quoted'))", LEDGER, "the stage's column 'a`b' has a backtick in its name"),
    "our_column": (
        "ledger(ref('our_names'))",
        LEDGER,
        "'ledger_sign' begins with ledger_, and such names are reserved for the package: rename it in the stage",
    ),
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
        'differ from the others in more than upper and lower case; given: "id"',
    ),
    "two_groups": (
        "projection(ref('good'))",
        {"group_by": {"both": "id, label"}, "measures": {"n": "count(*)"}},
        "setting 'group_by.both' must be SQL for one value; given: id, label",
    ),
    "map_version": (
        "ledger(ref('mapped'))",
        LEDGER | {"version": "counts"},
        "setting 'version' must be a column of a type that Spark can order; given: counts, which is map<string,int>",
    ),
    "list_block": (
        "ledger(ref('mapped'))",
        LEDGER | {"block": "labels"},
        "setting 'block' must be a column of a type that has one text for each value; given: labels, which is array<string>",
    ),
    "our_name": (
        "projection(ref('good'))",
        {"group_by": [], "measures": {"ledger_x": "sum(id)"}},
        'that does not begin with ledger_, and differ from the others in more than upper and lower case; given: "ledger_x"',
    ),
    "of_winners": (
        "projection(ref('winners'))",
        {"group_by": [], "measures": {"n": "count(*)"}},
        "the ledger 'winners' has the engine replacing: it has no cancel rows",
    ),
    "of_sums": (
        "projection(ref('sums'))",
        {"group_by": [], "measures": {"n": "count(*)"}},
        "sums of sums are a view over final of a projection. It reads ",
    ),
    "of_stage": (
        "projection(ref('stage'))",
        {"group_by": [], "measures": {"n": "count(*)"}},
        "view over final of a projection. It reads wrong_settings.stage",
    ),
    "by_name": ("ledger('stage')", LEDGER, "ledger takes a relation, such as ref('stage'); given: \"stage\""),
    "sums_by_name": (
        "projection('good')",
        {"group_by": [], "measures": {"n": "count(*)"}},
        "projection takes a relation, such as ref('good'); given: \"good\"",
    ),
    "deleting_winners": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "replacing", "block": "block", "version": "version", "deletes": "unversioned"},
        "setting 'deletes' has no effect with engine 'replacing': remove it (the highest version wins",
    ),
    "of_sql": (
        "projection('(select * from wrong_settings.good)')",
        {"group_by": [], "measures": {"n": "count(*)"}},
        "projection takes a relation, such as ref('orders'), and no SQL: move that into a model of its own; given: (select",
    ),
    "forgetting_the_future": (
        "ledger(ref('stage'))",
        LEDGER | {"tombstone_retention": -1000},
        "such as 1000 or 'interval 7 days'; given: -1000",
    ),
    "kept_by_text": (
        "ledger(ref('stage'))",
        LEDGER | {"version": "label", "tombstone_retention": 5},
        "and 'label' is string: what Spark makes of text depends on the session's time zone",
    ),
    "kept_for_days": (
        "ledger(ref('stage'))",
        LEDGER | {"tombstone_retention": "interval 7 days"},
        "setting 'tombstone_retention' must be SQL",
    ),
    "kept_by_version": (
        "ledger(ref('stage'))",
        LEDGER | {"tombstone_retention": "version / 2"},
        "setting 'tombstone_retention' must be SQL",
    ),
    "kept_without_deletes": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "block": "block", "tombstone_retention": 5},
        "setting 'tombstone_retention' has no effect without deletes",
    ),
    "no_number": ("projection(ref('good'))", {"group_by": [], "measures": {"x": "sum(day)"}}, "adds values of type date"),
    **(COLLATED if HAS_COLLATIONS else {}),
}


# Functions that SQL of a row must not call, those that can be written without parentheses first.
BARE = ("current_date", "current_time", "current_timestamp", "localtimestamp", "current_user", "session_user", "user")
CALLED = (
    *("rand", "randn", "random", "uuid", "shuffle", "uniform", "randstr", "monotonically_increasing_id", "spark_partition_id"),
    *("now", "curdate", "current_timezone", "current_catalog", "current_database", "current_schema", "version"),
    *("input_file_name", "input_file_block_start", "input_file_block_length", "aes_encrypt", "over"),
    *("explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack"),
)

# SQL of a group that is not the same whenever it is evaluated, or is none over the row: what the error says of it
WRONG_GROUPS = {
    **{f"{name}(id)": f"It must not use {name}; given" for name in CALLED},
    **{name: f"It must not use {name} (write a column of that name in backticks); given" for name in BARE},
    "transform(array(id), x -> UUID ())": "It must not use UUID",
    "_metadata.file_path": "It must not use _metadata",
    "row_number() over (order by id)": "It must not use over",
    "id in (select 1)": "It must not use select",
    "datediff(now(), day)": "It must not use now",
    "case -- it's late\n when day < current_date() then 'late' end": "It must not use current_date",
    "unix_timestamp()": "It must not use unix_timestamp",
    "good.ledger_sign": "It must not use ledger_sign",
    "`ledger_block`": "It must not use ledger_block",
    "hash(*)": "It must not use (*",
    "label) , (id": "must be SQL for one value; given: label) , (id",
    "map(id, label)": "must be SQL of a type that compares and orders (no map or variant, and no text with a collation); given: "
    "map(id, label), which is map<int,string>",
    "shop": "must be SQL that Spark can evaluate over a row; given: shop",
    "label -- of the row": "must be SQL that Spark can evaluate over a row",
    **({"label collate utf8_lcase": "no text with a collation); given: label collate utf8_lcase"} if HAS_COLLATIONS else {}),
}
# Of groups and measures that are wrong for a reason that another one shows, --full has the rest.
LATER = (
    *("transform(array(id), x -> UUID ())", "datediff(now(), day)", "label -- of the row"),
    *("max(struct(id, map(id, id)))", "max(make_interval(id))", "min(null)", "avg(date_add(day, 1))", "sum(make_interval(id))"),
    *("min(*)", "count(distinct *)", "count(distinct)", "sum(distinct id)"),
)
# these only look like such
FINE_GROUPS = {
    "said": "if(label = 'now()', 'today', \"current_date\")",
    "of": "version",
    "day": "date_add(day, 1)",
    "seconds": "unix_timestamp(day) * 2",
    "users": "if(`user`.id = 1, user.id, id)",
}

# measure: what the error says of it
WRONG_MEASURES = {
    "min(map('a', id))": "min(map('a', id)) compares values of type map<string,int>; allowed: types that compare and order",
    "max(struct(id, map(id, id)))": "compares values of type struct<id:int,col2:map<int,int>>",
    "count(distinct map(id, id))": "compares values of type map<int,int>",
    **({"min(parse_json(label))": "compares values of type variant"} if pyspark.__version__ > "4" else {}),
    "max(make_interval(id))": "compares values of type interval",
    "min(null)": "compares values of type void",
    "sum(label)": "sum(label) adds values of type string; allowed: numbers",
    "avg(date_add(day, 1))": "adds values of type date",
    "avg(rand())": "setting 'measures.wrong' must be SQL over the row's own columns",
    "count(*) filter (where now() > day)": "It must not use now",
    "sum(make_interval(id))": "adds values of type interval",
    "min(id, version)": "must be count(*), count(x), count_if(c), count(distinct x), sum(x), avg(x), min(x) or max(x), each also",
    "count(distinct id, label)": "given: count(distinct id, label)",
    "max_by(label, id)": "given: max_by(label, id)",
    "n / m": "given: n / m",
    "min(*)": "given: min(*)",
    "count(distinct *)": "given: count(distinct *)",
    "count(distinct)": "given: count(distinct)",
    "sum(distinct id)": "given: sum(distinct id)",
    "min(id) + max(id)": "given: min(id) + max(id)",
}
FINE = {
    "n": "count(*)",
    "mean": "avg(id)",
    "least": "min(id)",
    "greatest": "max(id)",
    "labels": "COUNT( distinct concat(label, ')'))",
    "ones": "count_if(id = 1) filter (where label in ('a', 'b'))",
}


def _kept(wrong: dict[str, str], full: bool) -> dict[int, tuple[str, str]]:
    """Return {number: (SQL, what is said of it)} of what is wrong and tried."""
    return {number: (sql, says) for number, (sql, says) in enumerate(wrong.items()) if full or sql not in LATER}


@pytest.fixture(scope="module")
def wrong_settings(make_project, full: bool):
    """A project with a model for each thing that is wrong, in one run; returns {model: what dbt said}."""
    stage = "1 as id, 1 as version, false as is_deleted, 1 as sign, 'a' as label, date'2013-01-01' as day, 'b' as block"
    stage += ", 'x' as decision, named_struct('id', 1) as `user`"
    files = {
        "models/stage.sql": f"{{{{ config(materialized='view') }}}}\nselect {stage}",
        "models/winners.sql": model(
            "ledger(ref('stage'))", {"key": "id", "engine": "replacing", "version": "version", "block": "block"}
        ),
        "models/sums.sql": model("projection(ref('good'))", {"group_by": [], "measures": {"n": "count(*)"}}),
        "models/no_partitions.sql": "select * from {{ collapsing.final(ref('winners'), across_partitions=false) }}",
        "models/decided_sums.sql": "select * from {{ collapsing.decisions(ref('sums'), ref('stage')) }}",
        "models/mapped.sql": f"{{{{ config(materialized='view') }}}}\nselect {stage}, map(label, id) as counts, "
        "array(label) as labels",
        "models/filtered.sql": model("ledger(ref('stage'))", LEDGER) + "{{ ' where id > 0' }}",
        "models/no_call.sql": f"{{{{ config(meta={{'collapsing': {LEDGER!r}}}) }}}}\nselect * from {{{{ ref('stage') }}}}",
        "models/of_no_call.sql": "select * from {{ collapsing.final(ref('no_call')) }}",
        "models/merging.sql": "{{ config(unique_key='id', incremental_strategy='merge', materialized='table') }}\n"
        + model("ledger(ref('stage'))", LEDGER),
        "models/quoted.sql": f"{{{{ config(materialized='view') }}}}\nselect {stage}, 1 as `a``b`",
        "models/our_names.sql": f"{{{{ config(materialized='view') }}}}\nselect {stage}, 1 as ledger_sign",
        "models/untyped.sql": f"{{{{ config(materialized='ephemeral') }}}}\nselect {stage}, null as nothing",
        "models/spans.sql": f"{{{{ config(materialized='ephemeral') }}}}\nselect {stage}, make_interval(0, 1) as term",
        "models/colons.sql": f"{{{{ config(materialized='ephemeral') }}}}\nselect {stage}, named_struct('dc:title', 'x') as book",
        "models/collated.sql": f"{{{{ config(materialized='ephemeral') }}}}\nselect {stage}, label collate utf8_lcase as city",
        "models/floating.sql": f"{{{{ config(materialized='ephemeral') }}}}\nselect {stage}",
        "models/good.sql": model("ledger(ref('stage'))", LEDGER),
        "models/good_signed.sql": model(
            "ledger(ref('stage'))",
            {"engine": "collapsing", "input": "signed", "key": "id", "sign": "sign", "order_by": "version", "block": "block"},
        ),
        "models/of_floating.sql": model("ledger(ref('floating'))", LEDGER),
        "models/no_final.sql": "select * from {{ collapsing.final(ref('stage')) }}",
        "models/wrong_as_of.sql": "select * from {{ collapsing.final(ref('good'), as_of='monday') }}",
        "models/sums_as_of.sql": "select * from {{ collapsing.final(ref('sums'), as_of=1) }}",
        "models/final_by_name.sql": "select * from {{ collapsing.final('good') }}",
        "models/decided_alone.sql": "select * from {{ collapsing.decisions(ref('good')) }}",
        "models/decided_floating.sql": "select * from {{ collapsing.decisions(ref('good'), ref('floating')) }}",
        "models/decided_twice.sql": "select * from {{ collapsing.decisions(ref('good'), ref('stage')) }}",
        "models/ahead.sql": "select * from {{ collapsing.changes(ref('good'), after=99) }}",
        "models/nothing_kept.sql": "select * from {{ collapsing.change_feed(ref('stage')) }}",
        "models/kept_badly.sql": "select * from {{ collapsing.change_feed(ref('stage'), keep=5) }}",
        "models/wrong_after.sql": "select * from {{ collapsing.changes(ref('good'), after='monday') }}",
    }
    files |= {f"models/{name}.sql": model(body, settings) for name, (body, settings, _) in WRONG_SETTINGS.items()}
    files["models/fine.sql"] = model("projection(ref('good'))", {"group_by": ["label"], "measures": FINE})
    for number, (sql, _) in _kept(WRONG_MEASURES, full).items():
        settings = {"group_by": [], "measures": {"wrong": sql}}
        files[f"models/wrong_{number}.sql"] = model("projection(ref('good'))", settings)
    for number, (sql, _) in _kept(WRONG_GROUPS, full).items():
        settings = {"group_by": {"wrong": sql}, "measures": {"n": "count(*)"}}
        files[f"models/group_{number}.sql"] = model("projection(ref('good'))", settings)
    files["models/fine_groups.sql"] = model("projection(ref('good'))", {"group_by": FINE_GROUPS, "measures": {"n": "count(*)"}})
    project = make_project("wrong_settings", files)
    warned = Warnings()
    result = project.invoke("run", callbacks=[warned])
    said = {node.node.name: str(node.message) for node in nodes_of(result) if str(node.status) == "error"}
    return said | {"warnings": str(warned)}


def _unclear(said: dict[str, str], expected: dict[str, tuple[str, str]]) -> dict[str, str]:
    """Return what was said of models of which each of two texts should have been, and was not."""
    found = {name: " ".join(said.get(name, "nothing").split()) for name in expected}
    return {name: text for name, text in found.items() if not all(words in text for words in expected[name])}


def test_a_wrong_setting_is_an_error_that_names_model_and_setting(wrong_settings) -> None:
    expected = {name: (f"collapsing: model '{name}'", says) for name, (_, _, says) in WRONG_SETTINGS.items()}
    assert _unclear(wrong_settings, expected) == {}


def test_models_beside_wrong_ones_are_built(wrong_settings) -> None:
    built = {"stage", "winners", "good", "filtered", "of_floating", "sums", "fine", "fine_groups", "merging"}
    assert not built & set(wrong_settings)


def test_sql_that_gives_two_copies_of_a_row_different_groups_is_refused(wrong_settings, full: bool) -> None:
    begins = "collapsing: model 'group_{0}': setting 'group_by.wrong' must be SQL"
    expected = {f"group_{number}": (begins.format(number), says) for number, (_, says) in _kept(WRONG_GROUPS, full).items()}
    assert _unclear(wrong_settings, expected) == {}


def test_settings_without_the_call_are_an_error_of_what_reads_the_model(wrong_settings) -> None:
    no_call = "it has settings in config(meta={'collapsing': {...}}), but its SQL does not call collapsing.ledger"
    assert f"model 'no_call': {no_call}" in wrong_settings["of_no_call"]


def test_configs_without_effect_are_warned_of(wrong_settings) -> None:
    warned = wrong_settings["warnings"]
    assert "model 'merging': these configs have no effect: unique_key (decided by the setting 'key')" in warned
    assert "incremental_strategy (decided by" in warned


def test_final_and_changes_refuse_what_they_cannot_read(wrong_settings) -> None:
    assert "model 'stage': final needs a model with settings" in wrong_settings["no_final"]
    assert "final takes a relation, such as ref('good'); given: \"good\"" in wrong_settings["final_by_name"]
    assert "changes cannot continue after batch 99: the last batch is 1" in wrong_settings["ahead"]
    assert "change_feed needs 'keep'" in wrong_settings["nothing_kept"] and "position; given: 5" in wrong_settings["kept_badly"]
    assert "decisions reads the stage 'floating', which is ephemeral: make it a view" in wrong_settings["decided_floating"]
    assert "decisions takes a relation, such as ref('orders'); given: nothing" in wrong_settings["decided_alone"]
    assert "model 'good': the stage's column 'decision' has the name of what decisions adds" in wrong_settings["decided_twice"]
    assert 'as_of must be the number of a batch, and what is read a ledger; given: "monday"' in wrong_settings["wrong_as_of"]
    assert "given: 1 of a projection: aggregate final(..., as_of) of its ledger" in wrong_settings["sums_as_of"]
    assert "changes needs 'after'" in wrong_settings["wrong_after"]
    assert (
        "or, of a ledger with the setting 'partition_by', false: then each partition has a winner; given: false"
        in wrong_settings["no_partitions"]
    )
    assert "decisions needs a ledger; this is a projection" in wrong_settings["decided_sums"]


def test_a_measure_that_cannot_be_kept_is_refused(wrong_settings, full: bool) -> None:
    begins = "collapsing: model 'wrong_{0}':"
    expected = {f"wrong_{number}": (begins.format(number), says) for number, (_, says) in _kept(WRONG_MEASURES, full).items()}
    assert _unclear(wrong_settings, expected) == {}
