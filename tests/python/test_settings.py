"""Wrong settings and measures: each is an error that names the model, the setting, what is allowed and what was given."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyspark
import pytest

from support.dbt_project import LEDGER, VIEW, Warnings, model, nodes_of

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
        LEDGER | {"combine": {"VERSION": "old.version"}},
        "setting 'combine' cannot combine 'VERSION'",
    ),
    "ordered_by_block": (
        "ledger(ref('stage'))",
        LEDGER | {"order_by": "Block"},
        "setting 'order_by' orders the rows of a block: it must not name the column of the setting 'block'",
    ),
    "combined_twice": (
        "ledger(ref('stage'))",
        LEDGER | {"combine": {"label": "old.label", "LABEL": "new.label"}},
        "setting 'combine' must be a mapping of different columns",
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
        'the name of a group or a measure must be text without a backtick; given: "a`b"',
    ),
    "of_all": (
        "projection(ref('good'))",
        {"group_by": ["*"], "measures": {"n": "count(*)"}},
        "setting 'group_by.*' must be SQL over the row's own columns",
    ),
    "combined_parts": (
        "ledger(ref('stage'))",
        LEDGER | {"engine": "replacing", "partition_by": "day", "combine": {"label": "new.label"}},
        "settings 'combine' and 'partition_by' exclude each other",
    ),
    "of_another_table": (
        "projection(ref('good'))",
        {"group_by": [], "measures": {"n": "sum(stored.id)"}},
        "name `stored`.`id` cannot be resolved",
    ),
    "too_many_values": (
        "projection(ref('good'))",
        {"group_by": ["id"], "measures": {f"m{number}": f"min(id + {number})" for number in range(64)}},
        "its 1 groups and 64 different arguments",
    ),
    "forgetful_parts": (
        "ledger(ref('stage'))",
        LEDGER | {"engine": "replacing", "partition_by": "day", "tombstone_retention": 5},
        "settings 'tombstone_retention' and 'partition_by' exclude each other",
    ),
    "uncompared": (
        "ledger(ref('nested'))",
        {"engine": "collapsing", "key": "id", "order_by": "version"},
        "with the rows that it keeps, and the column 'counts' of type array<map<string,int>> does not compare",
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
        {"key": "id", "version": "version", "deletes": "unversioned"},
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
    "combined_list": (
        "ledger(ref('stage'))",
        LEDGER | {"combine": {"label": "old.label, new.label"}},
        "setting 'combine.label' must be SQL for one value; given: old.label, new.label",
    ),
    "deduplicated": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "deduplicating", "version": "version"},
        "setting 'version' has no effect with engine 'deduplicating': remove it",
    ),
    "unordered": ("ledger(ref('stage'))", {"key": "id", "engine": "collapsing"}, "setting 'order_by' must be a column"),
    "unordered_winner": ("ledger(ref('stage'))", {"key": "id", "engine": "replacing"}, "setting 'order_by' must be a column"),
    "versioned_arrival": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "collapsing", "order_by": "version", "version": "version"},
        "setting 'version' has no effect with engine 'collapsing': remove it",
    ),
    "unsigned": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "input": "signed"},
        "setting 'sign' must be a column (the engine versioned_collapsing with input: signed needs it",
    ),
    "signed_deletes": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "input": "signed", "sign": "sign", "deletes": "unversioned"},
        "setting 'deletes' has no effect with engine 'versioned_collapsing with input: signed'",
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
    "combined_again": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "collapsing", "order_by": "version", "combine": {"day": "old.day"}},
        "setting 'combine' of the engine collapsing needs 'block'",
    ),
    "one_shard": ("ledger(ref('stage'))", LEDGER | {"shards": 1}, "'shards' must be a whole number from 2 to 1000; given: 1"),
    "backtick": ("ledger(ref('quoted'))", LEDGER, "the stage's column 'a`b' has a backtick in its name"),
    "our_column": ("ledger(ref('our_names'))", LEDGER, "'ledger_sign' begins with ledger_"),
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
        "two groups or measures are named 'id': Spark does not distinguish",
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
    "of_stage": (
        "projection(ref('stage'))",
        {"group_by": [], "measures": {"n": "count(*)"}},
        "it reads none: wrong_settings.stage",
    ),
    "by_name": ("ledger('stage')", LEDGER, "ledger takes a relation, such as ref('stage'); given: \"stage\""),
    "sums_by_name": (
        "projection('good')",
        {"group_by": [], "measures": {"n": "count(*)"}},
        "projection takes a relation, such as ref('good'); given: \"good\"",
    ),
    "of_unbuilt": ("ledger(ref('never_built'))", LEDGER, "what it reads is not there: build never_built first"),
    "deleting_winners": (
        "ledger(ref('stage'))",
        {"key": "id", "engine": "replacing", "version": "version", "deletes": "unversioned"},
        "setting 'deletes' has no effect with engine 'replacing': remove it (the highest version wins",
    ),
    "changing_whole": (
        "ledger(ref('stage'))",
        {"key": "id", "version": "version", "on_changed_block": "fail"},
        "setting 'on_changed_block' needs 'block'",
    ),
    "uncomparable": (
        "ledger(ref('mapped'))",
        {"engine": "collapsing", "input": "signed", "key": "id", "sign": "sign", "order_by": "version"},
        "setting 'block' must be a column with the block token: without it each run compares the whole stage",
    ),
    "of_sql": (
        "projection('(select * from wrong_settings.good)')",
        {"group_by": [], "measures": {"n": "count(*)"}},
        "projection takes a relation, such as ref('orders'), and no SQL: move that into a model of its own; given: (select",
    ),
    "beside": ("ledger(ref('stage'))", LEDGER, "the model 'beside__history' is named beside__history, as is a table"),
    "combined_nothing": (
        "ledger(ref('stage'))",
        LEDGER | {"combine": {"label": "old.nothing"}},
        "setting 'combine.label' must be SQL over the row's own columns, which gives the same whenever it is evaluated. "
        "Spark says: [UNRESOLVED_COLUMN",
    ),
    "combined_by_chance": (
        "ledger(ref('stage'))",
        LEDGER | {"combine": {"label": "concat(new.label, uuid())"}},
        "The operator expects a deterministic expression",
    ),
    "combined_badly": ("ledger(ref('stage'))", LEDGER | {"combine": {"label": "old.label ||"}}, "SQL that Spark can parse"),
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
}


# more arguments than Spark shows of a call
MANY = ", ".join(["label"] * 26)
# SQL of a group that is not the same whenever it is evaluated, or is none over the row: what the error says of it
WRONG_GROUPS = {
    "rand()": "expects a deterministic expression",
    "transform(array(id), x -> rand())": "expects a deterministic expression",
    "map(id, label)": "must be SQL of a type that compares and orders (no map or variant); given: map(id, label), which",
    "input_file_name()": "expects a deterministic expression",
    "row_number() over (order by id)": "avoid window functions",
    "sum(id)": "avoid window functions, aggregate functions",
    "explode(array(id))": "The generator is not supported",
    "(select max(id) from {{ ref('stage') }})": "It has a subquery",
    "id in (select 1)": "It has a subquery",
    "current_date": "current_date() changes from one run to the next",
    "datediff(now(), day)": "now() changes from one run to the next",
    "unix_timestamp()": "current_timestamp() changes from one run to the next",
    f"coalesce({MANY}, cast(current_date as string))": "current_date() changes from one run to the next",
    f"coalesce({MANY}, cast(unix_timestamp() as string))": "unix_timestamp() changes from one run to the next",
    f"coalesce({MANY}, (select max(label) from wrong_settings.stage))": "It has a subquery",
    "current_user()": "current_user() changes",
    "aes_encrypt(label, '0000111122223333')": "aes_encrypt() gives something else each time",
    "concat(label, '${env:HOME}')": "A variable of the session, or ${...}, may have another value",
    "id * rate": "A variable of the session, or ${...}, may have another value",
    "cast('today' as date) > day": "A word such as today or now changes",
    "date'yesterday'": "A word such as today or now changes",
    "to_date('today') > day": "A word such as today or now changes",
    "ledger_other + 1": "A row has no column 'ledger_other'",
    "ledger_block": "name `ledger_block` cannot be resolved",
    "_metadata.file_path": "cannot be resolved",
    "shop": "name `shop` cannot be resolved",
    "label) , (id": "must be SQL that Spark can parse; given: label) , (id",
    "label -- of the row": "must be SQL that Spark can parse",
}
# Of groups and measures that are wrong for a reason that another one shows, --full has the rest.
LATER = (
    *("transform(array(id), x -> rand())", "input_file_name()", "row_number() over (order by id)", "id in (select 1)"),
    *("datediff(now(), day)", "unix_timestamp()", "current_user()", "date'yesterday'", "_metadata.file_path", "shop"),
    "label -- of the row",
    f"coalesce({MANY}, cast(unix_timestamp() as string))",
    *("max(struct(id, map(id, id)))", "count(distinct label, map(id, id))", "max(make_interval(id))", "min(null)"),
    *("avg(date_add(day, 1))", "sum(make_interval(id))", "min(*)", "count(distinct *)", "count(distinct)", "sum(distinct id)"),
    *("sum(labels)", "count(distinct labels)", "sum(least)", "max(least)", "min(n)", "count(n)"),
)
# these only look like such
FINE_GROUPS = {
    "said": "if(label = 'now()', 'today', 'current_date')",
    "of": "version",
    "day": "date_add(day, 1)",
    "at": "try_to_timestamp(label)",
}

# measure: what the error says of it
OVER_LEDGER = {
    "min(map('a', id))": "min(map('a', id)) compares values of type map<string,int>; allowed: types that compare and order",
    "max(struct(id, map(id, id)))": "compares values of type struct<id:int,col2:map<int,int>>",
    "count(distinct map(id, id))": "compares values of type map<int,int>",
    "count(distinct label, map(id, id))": "compares values of type struct<value_1:string,value_2:map<int,int>>",
    **({"min(parse_json(label))": "compares values of type variant"} if pyspark.__version__ > "4" else {}),
    "max(make_interval(id))": "compares values of type interval",
    "min(null)": "compares values of type void",
    "sum(label)": "sum(label) adds values of type string; allowed: numbers",
    "avg(date_add(day, 1))": "adds values of type date",
    "avg(rand())": "setting 'measures.wrong' must be SQL over the row's own columns",
    "sum(make_interval(id))": "adds values of type interval",
    "min(id, version)": "must be count(*), count(x), count_if(c), sum(x), avg(x), min(x), max(x), max_by(x, y), ",
    "min(*)": "given: min(*)",
    "count(distinct *)": "given: count(distinct *)",
    "count(distinct id,)": "given: count(distinct id,)",
    "count(distinct)": "given: count(distinct)",
    "sum(distinct id)": "given: sum(distinct id)",
    "min(id) + max(id)": "given: min(id) + max(id)",
}
OVER_PROJECTION = {
    "count(*)": "count(*) cannot be computed from what 'fine' keeps. 'fine' is a projection: of its measures (n: count(*); ",
    "avg(mean)": "allowed are sum(m) of a count or a sum, min(m) of a min, max(m) of a max, and max_by(m, n) of a max_by",
    "sum(mean)": "Means, quotients and distinct counts of groups do not add up",
    "sum(labels)": "sum(labels) cannot be computed",
    "count(distinct labels)": "count(distinct labels) cannot be computed",
    "sum(least)": "sum(least) cannot be computed",
    "max(least)": "max(least) cannot be computed",
    "min(n)": "min(n) cannot be computed",
    "count(n)": "count(n) cannot be computed",
    "sum(id)": "sum(id) cannot be computed",
    "sum(n * 2)": "sum(n * 2) cannot be computed",
}
WRONG_MEASURES = {("good", measure): says for measure, says in OVER_LEDGER.items()} | {
    ("fine", measure): says for measure, says in OVER_PROJECTION.items()
}
FINE = {"n": "count(*)", "mean": "avg(id)", "least": "min(id)", "greatest": "max(id)", "labels": "count(distinct label)"}


def each(wrong: dict, name: Callable[[Any], str] = str) -> list:
    """Return the numbers of what is wrong as the cases of a test, {what: what is said of it}; `name` gives the id of one."""
    return [
        pytest.param(number, id=name(what), marks=[pytest.mark.full] if _sql(what) in LATER else [])
        for number, what in enumerate(wrong)
    ]


def _sql(what: str | tuple[str, str]) -> str:
    """Return the SQL of a wrong group, or of a wrong measure with its source."""
    return what if isinstance(what, str) else what[1]


@pytest.fixture(scope="module")
def wrong_settings(make_project, full: bool):
    """A project with a model for each thing that is wrong, in one run; returns {model: what dbt said}."""
    stage = "1 as id, 1 as version, false as is_deleted, 1 as sign, 'a' as label, date'2013-01-01' as day, 'b' as block"
    stage += ", 'x' as decision"
    files = {
        "models/stage.sql": f"{{{{ config(materialized='view') }}}}\nselect {stage}",
        "models/winners.sql": model("ledger(ref('stage'))", {"key": "id", "engine": "replacing", "version": "version"}),
        "models/sums.sql": model("projection(ref('good'))", {"group_by": [], "measures": {"n": "count(*)"}}),
        "models/no_partitions.sql": "select * from {{ collapsing.final(ref('winners'), across_partitions=false) }}",
        "models/decided_sums.sql": "select * from {{ collapsing.decisions(ref('sums'), ref('stage')) }}",
        "models/mapped.sql": f"{{{{ config(materialized='view') }}}}\nselect {stage}, map(label, id) as counts, "
        "array(label) as labels",
        "models/nested.sql": f"{VIEW}select {stage}, array(map(label, id)) as counts",
        "models/beside__history.sql": "{{ config(materialized='view') }}\nselect 1 as one",
        "models/never_built.sql": "{{ config(materialized='view') }}\nselect 1 as one",
        "models/selected.sql": "select * from\n" + model("ledger(ref('stage'))", LEDGER),
        "models/filtered.sql": model("ledger(ref('stage'))", LEDGER) + "{{ ' where id > 1' }}",
        "models/no_call.sql": f"{{{{ config(meta={{'collapsing': {LEDGER!r}}}) }}}}\nselect * from {{{{ ref('stage') }}}}",
        "models/of_no_call.sql": "select * from {{ collapsing.final(ref('no_call')) }}",
        "models/raw.sql": "select count(*) as n from {{ ref('good') }}",
        "models/raw_through.sql": f"{VIEW}select * from {{{{ ref('raw_inside') }}}}",
        "models/raw_inside.sql": "{{ config(materialized='ephemeral') }}-- by {{ ref('good') }}\n"
        "select * from {{ collapsing.final(ref('good')) }} join {{ ref('sums') }}",
        "models/raw_by_intent.sql": "{# collapsing: raw #}select count(*) as n from {{ ref('good') }}",
        "models/merging.sql": "{{ config(unique_key='id', incremental_strategy='merge', materialized='table') }}\n"
        + model("ledger(ref('stage'))", LEDGER),
        "models/quoted.sql": f"{{{{ config(materialized='view') }}}}\nselect {stage}, 1 as `a``b`",
        "models/our_names.sql": f"{{{{ config(materialized='view') }}}}\nselect {stage}, 1 as ledger_sign",
        "models/untyped.sql": f"{{{{ config(materialized='ephemeral') }}}}\nselect {stage}, null as nothing",
        "models/spans.sql": f"{{{{ config(materialized='ephemeral') }}}}\nselect {stage}, make_interval(0, 1) as term",
        "models/colons.sql": f"{{{{ config(materialized='ephemeral') }}}}\nselect {stage}, named_struct('dc:title', 'x') as book",
        "models/floating.sql": f"{{{{ config(materialized='ephemeral') }}}}\nselect {stage}",
        "models/good.sql": model("ledger(ref('stage'))", LEDGER),
        "models/of_position.sql": model(
            "projection(ref('good_signed'))", {"group_by": ["version"], "measures": {"n": "count(*)"}}
        ),
        "models/good_signed.sql": model(
            "ledger(ref('stage'))",
            {"engine": "collapsing", "input": "signed", "key": "id", "sign": "sign", "order_by": "version"},
        ),
        "models/of_floating.sql": model("ledger(ref('floating'))", LEDGER),
        "models/no_final.sql": "select * from {{ collapsing.final(ref('stage')) }}",
        "models/wrong_as_of.sql": "select * from {{ collapsing.final(ref('good'), as_of='monday') }}",
        "models/final_by_name.sql": "select * from {{ collapsing.final('good') }}",
        "models/decided_alone.sql": "select * from {{ collapsing.decisions(ref('good')) }}",
        "models/ahead.sql": "select * from {{ collapsing.changes(ref('good'), after=99) }}",
        "models/nothing_compared.sql": "select * from ({{ collapsing.differences(ref('good'), ref('good'), []) }})",
        "models/nothing_kept.sql": "select * from {{ collapsing.change_feed(ref('stage')) }}",
        "models/kept_badly.sql": "select * from {{ collapsing.change_feed(ref('stage'), keep=5) }}",
        "models/explained.sql": "select * from {{ collapsing.explain_key(ref('good'), 1, ref('floating')) }}",
        "models/wrong_after.sql": "select * from {{ collapsing.changes(ref('good'), after='monday') }}",
    }
    files |= {f"models/{name}.sql": model(body, settings) for name, (body, settings, _) in WRONG_SETTINGS.items()}
    files["models/fine.sql"] = model("projection(ref('good'))", {"group_by": ["label"], "measures": FINE})
    for number, (source, measure) in enumerate(WRONG_MEASURES):
        if measure in LATER and not full:
            continue
        files[f"models/wrong_{number}.sql"] = model(
            f"projection(ref('{source}'))", {"group_by": [], "measures": {"wrong": measure}}
        )
    for number, sql in enumerate(WRONG_GROUPS):
        if sql in LATER and not full:
            continue
        files[f"models/group_{number}.sql"] = model(
            "projection(ref('good'))", {"group_by": {"wrong": sql}, "measures": {"n": "count(*)"}}
        ).replace("{{ ref('stage') }}", "wrong_settings.stage")
    files["models/fine_groups.sql"] = model("projection(ref('good'))", {"group_by": FINE_GROUPS, "measures": {"n": "count(*)"}})
    project = make_project("wrong_settings", files)
    project.sql("declare or replace variable rate = 2")
    warned = Warnings()
    result = project.invoke("run", "--exclude", "never_built", callbacks=[warned])
    said = {node.node.name: str(node.message) for node in nodes_of(result) if str(node.status) == "error"}
    return said | {"warnings": str(warned)}


@pytest.mark.parametrize("name", WRONG_SETTINGS)
def test_a_wrong_setting_is_an_error_that_names_model_and_setting(wrong_settings, name: str) -> None:
    assert f"collapsing: model '{name}'" in wrong_settings[name]
    assert WRONG_SETTINGS[name][2] in " ".join(wrong_settings[name].split())


def test_models_beside_wrong_ones_are_built(wrong_settings) -> None:
    built = {"stage", "winners", "good", "of_floating", "sums", "fine", "fine_groups", "merging", "raw", "raw_by_intent"}
    assert not built & set(wrong_settings)


@pytest.mark.parametrize("number", each(WRONG_GROUPS))
def test_sql_that_gives_two_copies_of_a_row_different_groups_is_refused(wrong_settings, number: int) -> None:
    said = " ".join(wrong_settings[f"group_{number}"].split())
    assert f"collapsing: model 'group_{number}': setting 'group_by.wrong' must be SQL" in said
    assert [*WRONG_GROUPS.values()][number] in said


def test_a_model_is_one_call(wrong_settings) -> None:
    assert (
        "its SQL must be {{ collapsing.ledger(ref('...')) }} and nothing else, and has: select * from"
        in wrong_settings["selected"]
    )
    assert "and nothing else, and has: where id > 1. Filter" in wrong_settings["filtered"]
    no_call = (
        "model 'no_call': it has settings in config(meta={'collapsing': {...}}), but its SQL does not call collapsing.ledger"
    )
    assert no_call in wrong_settings["of_no_call"] and no_call in wrong_settings["warnings"]


def test_configs_without_effect_and_reads_of_a_raw_table_are_warned_of(wrong_settings) -> None:
    warned = wrong_settings["warnings"]
    assert "model 'merging': these configs have no effect: unique_key (decided by the setting 'key')" in warned
    assert "incremental_strategy (decided by" in warned and "materialized (decided by collapsing.ledger)" in warned
    assert "model 'raw': it reads the table of 'good'" in warned
    assert re.findall(r"'(\w+)': setting '([\w.]+)' makes a timestamp of the text '(\w+)'", warned) == [
        ("fine_groups", "group_by.at", "label")
    ]
    assert re.findall(r"model 'raw_through': it reads the table of '(\w+)'", warned) == ["sums"]
    assert "model 'raw_by_intent'" not in warned
    reads = "model 'of_position': setting 'group_by.version' reads the column 'version' of rows that carry their sign: "
    assert reads + "the sums are right only if each cancel row repeats the version" in warned


def test_final_and_changes_refuse_what_they_cannot_read(wrong_settings) -> None:
    assert "model 'stage': final needs a model with settings" in wrong_settings["no_final"]
    assert "final takes a relation, such as ref('good'); given: \"good\"" in wrong_settings["final_by_name"]
    assert "changes cannot continue after batch 99: the last batch is 1" in wrong_settings["ahead"]
    assert "'columns' must be a column or a list of columns; given: nothing" in wrong_settings["nothing_compared"]
    assert "change_feed needs 'keep'" in wrong_settings["nothing_kept"] and "position; given: 5" in wrong_settings["kept_badly"]
    assert "explain_key reads the stage 'floating', which is ephemeral: make it a view" in wrong_settings["explained"]
    assert "decisions takes a relation, such as ref('orders'); given: nothing" in wrong_settings["decided_alone"]
    assert 'as_of must be a batch number or a timestamp; given: "monday"' in wrong_settings["wrong_as_of"]
    assert "changes needs 'after'" in wrong_settings["wrong_after"]
    assert "this is a ledger without the setting 'partition_by'" in wrong_settings["no_partitions"]
    assert "decisions needs a ledger; this is a projection" in wrong_settings["decided_sums"]


@pytest.mark.parametrize("number", each(WRONG_MEASURES, lambda wrong: " of ".join(reversed(wrong))))
def test_a_measure_that_cannot_be_kept_is_refused(wrong_settings, number: int) -> None:
    said = " ".join(wrong_settings[f"wrong_{number}"].split())
    assert "collapsing: model 'wrong_" in said and "wrong'" in said.split(":", 2)[2]
    assert [*WRONG_MEASURES.values()][number] in said
