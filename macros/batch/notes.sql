{#
    A ledger's notes are rows without a key, `ledger_note` JSON with a `kind`: `block` for each block that was folded, `commit` for each commit, `reject`
    for each rejected row, on Delta and Iceberg `created` for where the table begins. Each has the number of its batch, so that a compaction
    carries them on as they are.
#}


{# Returns SQL for the JSON of a note, of {name: SQL}; what is NULL is left out. #}
{% macro _note(values) %}
    {% set fields = [] %}
    {% for name, sql in values.items() %}
        {% do fields.append("'" ~ name ~ "', " ~ sql) %}
    {% endfor %}
    {{ return('to_json(named_struct(' ~ fields | join(', ') ~ '))') }}
{% endmacro %}


{# Returns SQL for the note of a commit; `values` are {name: SQL} of what it says beside its run and time. #}
{% macro _commit_note(values) %}
    {{ return(collapsing._note(dict(
        {'kind': "'commit'", 'run_id': "'" ~ invocation_id ~ "'", 'started_at': "'" ~ run_started_at.isoformat() ~ "'"}, **values
    ))) }}
{% endmacro %}


{#
    Returns the select of what a commit stores, over the CTEs of its data rows and its notes. The notes end in a file of their own, whose
    statistics tell it from those of rows.
#}
{% macro _select_with_notes(table, data) -%}
{%- set of_notes = ['ledger_sign', 'ledger_block', 'ledger_note', 'ledger_batch'] -%}
{%- set names = table.columns | map(attribute='name') | reject('in', of_notes) | list -%}
select
    {{ collapsing._select_list(names, indent=4) }},
    ledger_sign,
    ledger_block,
    cast(null as string) as ledger_note
from {{ data }}
union all
select /*+ coalesce(1) */
    {%- for name in names %}
    null as {{ adapter.quote(name) }},
    {%- endfor %}
    0 as ledger_sign,
    ledger_block,
    ledger_note
from notes
{%- endmacro %}


{# Returns {folded: tokens of the folded blocks, as _carried_text has them; rules: those of the newest commit, or none}. #}
{% macro _notes_of(table) %}
    {% if not table or table.compacted is none %}{{ return({'folded': [], 'rules': none}) }}{% endif %}
    {#- one row of JSON: dbt guesses types from each cell of a result, and there may be ten thousand blocks -#}
    {% set query %}
        select
            to_json(collect_list({{ collapsing._carried_text('ledger_block') }}) filter (where note.kind = 'block')) as folded,
            max_by(note.rules, note.batch) filter (where note.rules is not null) as rules
        from (
            select
                ledger_block,
                from_json(ledger_note, 'kind string, batch int, rules string') as note
            from {{ table.relation }}
            where ledger_note is not null and {{ collapsing._sql_is_visible(table) }}
        )
    {% endset %}
    {% set row = collapsing._rows_of(query)[0] %}
    {{ return({'folded': fromjson(row[0]), 'rules': fromjson(row[1]) if row[1] else none}) }}
{% endmacro %}


{# Returns the note of the commit that this command has just written under `number`, as a dictionary; `act` as the note has it. #}
{% macro _note_written(table, number, act) %}
    {% set rows = collapsing._rows_of(
        'select ledger_note from ' ~ table.relation ~ ' where ledger_note is not null and ledger_batch = ' ~ number
        ~ " and get_json_object(ledger_note, '$.act') = '" ~ act ~ "' and get_json_object(ledger_note, '$.run_id') = '" ~ invocation_id
        ~ "' and get_json_object(ledger_note, '$.batch') = '" ~ (number | abs) ~ "'"
    ) %}
    {{ return(fromjson(rows[0][0])) }}
{% endmacro %}


{# Returns a subquery of the visible notes of a ledger, their fields as columns. #}
{% macro _visible_notes(relation) -%}
(
    select ledger_block, note.*, ledger_batch
    from (
        select
            ledger_block,
            from_json(
                ledger_note,
                'kind string, batch int, act string, run_id string, started_at timestamp, blocks bigint, rows_read bigint, '
                    || 'decisions map<string, bigint>, states bigint, cancels bigint, tombstones bigint, `rows` bigint, reason string, `row` string'
            ) as note,
            ledger_batch
        from {{ collapsing._visible(relation) }}
        where ledger_note is not null
    )
)
{%- endmacro %}


{#
    Returns the CTE `notes` of a batch, over the CTEs of its fold, with the CTE `rejected` of the bad rows that it rejects. It stops the statement where
    it has counted other rows than the profile. `query` is the model's own; `batch` as _batch_to_store has it.
#}
{% macro _notes_of_batch(query, table, settings, columns, batch) -%}
{%- set decisions, totals = collapsing._decision_names(), [] -%}
{%- for decision in decisions -%}
    {%- do totals.append("'" ~ decision ~ "', sum(" ~ decision ~ ')') -%}
{%- endfor -%}
{%- if batch.bad -%}
-- bad rows, each with its reason
rejected as (
    select
        {{ collapsing._token(settings, columns) }} as ledger_block,
        {{ collapsing._bad_reason(settings) }} as ledger_reason,
        {{ collapsing._as_json('struct(*)') }} as ledger_row
    from (
{{ query }}
)
    where
        {{ collapsing._sql_is_block_in(settings, columns, batch.blocks | map(attribute='token') | list) }}
        and ({{ collapsing._sql_is_bad(settings) }})
),

{% endif -%}
-- by block, every row that the batch has read and every row that it appends; and one of NULLs, so that an empty batch has a note
counted as (
    select
        ledger_block,
        count(ledger_decision) as rows_read,
        count_if(ledger_is_planned) as planned,
        {%- for decision in decisions %}
        count_if(ledger_decision = '{{ decision }}') as {{ decision }},
        {%- endfor %}
        count_if(ledger_sign = 1) as states,
        count_if(ledger_sign = -1) as cancels,
        count_if(ledger_sign = 0) as tombstones
    from (
        select ledger_block, ledger_decision, ledger_is_planned, ledger_sign
        from outcomes
        {%- if batch.bad %}
        union all
        select ledger_block, ledger_reason, true, null
        from rejected
        {%- endif %}
        union all
        select null, null, null, null
    )
    group by ledger_block
),

-- what the ledger remembers of the batch: the note of the commit, and one for each block
notes as (
    select
        ledger_block,
        if(
            grouping(ledger_block) = 1,
            {{ collapsing._commit_note({
                'batch': batch.number | abs, 'act': "'" ~ batch.act ~ "'", 'blocks': batch.blocks | length, 'rows_read': 'sum(rows_read)',
                'decisions': 'map_filter(map(' ~ totals | join(', ') ~ '), (decision, n) -> n > 0)',
                'states': 'sum(states)', 'cancels': 'sum(cancels)', 'tombstones': 'sum(tombstones)',
                'rules': collapsing._text_literal(tojson(collapsing._rules_of(settings, columns)))
            }) }},
            {{ collapsing._note({'kind': "'block'", 'batch': batch.number | abs, 'rows': 'sum(rows_read)'}) }}
        ) as ledger_note
    from counted
    group by grouping sets ((ledger_block), ())
    having if(
        grouping(ledger_block) = 1,
        -- as text, for a number that changes with each run would be compiled anew
        if(
            cast(sum(planned) as string) = {{ "'" ~ batch.rows ~ "'" if settings.block else 'cast(sum(rows_read) as string)' }},
            true,
            {{ collapsing._raise_in_sql(
                "model '" ~ settings.model ~ "': its stage gives other rows than when this run began. Nothing was appended: run it again"
            ) }}
        ),
        ledger_block is not null
    )
    {%- if batch.bad %}
    union all
    select
        ledger_block,
        {{ collapsing._note({
            'kind': "'reject'", 'batch': batch.number | abs, 'reason': 'ledger_reason', 'row': 'ledger_row'
        }) }} as ledger_note
    from rejected
    {%- endif %}
    {%- if batch.act == 'full_refresh' %}
    union all
    -- the commits before it
    select
        ledger_block,
        ledger_note
    from {{ table.relation }}
    where
        ledger_note is not null
        and get_json_object(ledger_note, '$.kind') = 'commit'
        and {{ collapsing._sql_is_visible(table) }}
    {%- endif %}
)
{%- endmacro %}


{#
    Returns a subquery of the visible notes of one kind, as the columns [{name, dtype, sql}]: what history, blocks and rejects
    give. While the table of the ledger is not there, it has no rows.
#}
{% macro _from_notes(ledger, kind, columns) %}
{%- if load_relation(ledger) is none -%}{{ return('(' ~ collapsing._row_of_nulls(columns) ~ ' where false)') }}{%- endif -%}
(
    select
        {%- for column in columns %}
        {{ column.sql }} as {{ adapter.quote(column.name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ collapsing._visible_notes(ledger) | indent(4) }}
    where kind = '{{ kind }}'
)
{%- endmacro %}
