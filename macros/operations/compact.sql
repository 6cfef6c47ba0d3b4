{#
    Returns the query of the data rows that are left of a ledger's visible batches up to `upto`, as OPTIMIZE FINAL leaves them. It
    has the table's columns but ledger_note and ledger_batch.
#}
{% macro _compacted_rows(table, settings, upto) %}
{%- set engine, key = collapsing._engine(settings), collapsing._column_list(settings.key) -%}
{%- set own = ['ledger_place', 'ledger_note', 'ledger_batch'] -%}
{%- set rows -%}
(
    select *
    from {{ table.relation }}
    where ledger_note is null and {{ collapsing._sql_is_visible(table, upto=upto) }}
)
{%- endset -%}
select
    {{ collapsing._select_list(table.columns | map(attribute='name') | reject('in', own) | list, indent=4) }}
    {%- if engine.keeps_every_row %},
    -- what is left of each key keeps its order
    row_number() over (partition by {{ key }} order by ledger_batch, ledger_place) as ledger_place
from {{ engine.collapsed(rows, settings) }}
where
    true
    {%- else %}
-- the last state of each key: its live row or its tombstone
from {{ collapsing._first_rows(rows, settings.key, engine.last_state) }}
where
    ledger_sign in (0, 1)
    {%- endif %}
    {%- if settings.tombstone_retention is not none %}
    {%- set version = adapter.quote(settings.version[0]) %}
    and (ledger_sign <> 0 or coalesce({{ version }} >= {{ collapsing._oldest_to_retain(rows, version, settings) }}, true))
    {%- endif %}
{% endmacro %}


{#
    Returns the query of a compacted batch: the rows of _compacted_rows by key, the notes up to `upto`, and the note of
    the commit. An undo keeps the commit notes of the later batches, as undone.

    act     'optimize' or 'undo'
    number  the batch of the commit's note
#}
{% macro _compaction(table, settings, upto, act, number) %}
{%- set key = collapsing._column_list(settings.key) -%}
with

-- ledger_row_id is not deterministic: so Spark works these rows out once, though rows and note read them
kept as (
    select /*+ repartition_by_range({{ key }}) */
        *,
        monotonically_increasing_id() as ledger_row_id
    from (
        {{ collapsing._compacted_rows(table, settings, upto) }}
    )
),

-- by ledger_row_id too: a column that nobody reads is left out, and with it the ranges of keys
sorted_by_key as (
    select *
    from kept
    sort by {{ key }}, ledger_row_id
),

notes as (
    select ledger_block, ledger_note
    from {{ table.relation }}
    where ledger_note is not null and {{ collapsing._sql_is_visible(table, upto=upto) }}
    {%- if act == 'undo' %}
    union all
    -- the notes of their blocks are left out, so that these are unread again
    select ledger_block, replace(ledger_note, '"act":"run"', '"act":"undone"') as ledger_note
    from {{ table.relation }}
    where
        ledger_note is not null
        and ledger_batch > {{ upto }}
        and get_json_object(ledger_note, '$.kind') = 'commit'
    {%- endif %}
    union all
    select
        cast(null as string) as ledger_block,
        {{ collapsing._commit_note({
            'batch': number, 'act': "'" ~ act ~ "'", 'states': 'count_if(ledger_sign = 1)',
            'cancels': 'count_if(ledger_sign = -1)', 'tombstones': 'count_if(ledger_sign = 0)'
        }) }} as ledger_note
    from kept
)

{{ collapsing._select_with_notes(table, data='sorted_by_key') }}
{% endmacro %}


{# Returns a subquery of the least version of a kept tombstone; NaN and infinity are no versions to count back from. #}
{% macro _oldest_to_retain(rows, version, settings) -%}
{%- set oldest = 'max(' ~ version ~ ') - (' ~ settings.tombstone_retention ~ ')' -%}
(
    select if({{ oldest }} > max({{ version }}), {{ collapsing._raise_in_sql(
        "ledger '" ~ settings.model ~ "': setting 'tombstone_retention' must not be negative; given: "
        ~ settings.tombstone_retention
    ) }}, {{ oldest }})
    from {{ rows }}
    where cast({{ version }} as string) not in ('NaN', 'Infinity')
)
{%- endmacro %}


{# Returns the handle of a node's table, or none where it has none. #}
{% macro _table_of(node) %}
    {% set relation = collapsing._relation_if_any(node) %}
    {{ return(collapsing._table(relation) if relation is not none else none) }}
{% endmacro %}


{# Returns in words why there is nothing in a ledger's table to work on, or none. #}
{% macro _why_not_built(table) %}
    {% if table is none %}{{ return('there is no table yet: run the model first') }}{% endif %}
    {% if table.identity is none %}{{ return('its table is not one that this package has created') }}{% endif %}
    {% if table.compacted is none %}{{ return('its table is unfinished: the first run died, or is still at work') }}{% endif %}
    {{ return(none) }}
{% endmacro %}


{# Returns in words the batches from one to another. #}
{% macro _batches_in_words(first, last) %}
    {{ return('batch ' ~ last if first == last else 'batches ' ~ first ~ ' to ' ~ last) }}
{% endmacro %}


{# Raises an error unless a ledger's table is finished, and its rows were folded by the rules that the model has now. #}
{% macro _check_compactable(node, settings, table) %}
    {% if table is not none %}{% do collapsing._check_ours(node.name, table) %}{% endif %}
    {% set because = collapsing._why_not_built(table) %}
    {% if because %}{% do collapsing._raise(node.name, because) %}{% endif %}
    {% do collapsing._check_rules(settings, collapsing._notes_of(table)) %}
{% endmacro %}
