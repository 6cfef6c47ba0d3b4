{#
    Returns the query of what one batch of a ledger stores, and the whole of a run in SQL: unread rows, the one lookup of their keys, the decision about
    each row, the rows that follow from it, and the notes: one for each block, one for each rejected row, one for the commit.

    query      the model's own, which reads the stage
    looked_up  relation of the ledger in which last states are looked up; none where its table is folded anew
    table      handle of the ledger's table
    batch      as _batch in materializations/ledger.sql returns it
#}
{% macro _batch_to_store(query, looked_up, table, settings, columns, batch) -%}
with

{{ collapsing._fold_ctes('(\n' ~ query ~ '\n)', looked_up, settings, columns, batch) }},

{{ collapsing._notes_of_batch(query, table, settings, columns, batch) }}

{{ collapsing._select_with_notes(table, data='outcomes where ledger_sign is not null') }}
{%- endmacro %}


{#
    Returns the query of the data rows alone that one batch appends: for `dbt compile`, for unit tests, and where a run has to know whether any row
    applies. `source` is what can stand behind `from` for the staged rows.
#}
{% macro _fold(source, looked_up, settings, columns, batch) -%}
with

{{ collapsing._fold_ctes(source, looked_up, settings, columns, batch) }}

select
    {{ collapsing._select_list(collapsing._appended_names(settings, columns), indent=4) }}
from outcomes
where ledger_sign is not null
{%- endmacro %}


{#
    Returns the CTEs of a fold: `classified`, each row that a batch takes with its decision, and `outcomes`, what follows. A row of `outcomes`
    that has a sign is appended, one that has a decision is counted in the commit's note. A staged row has both or a decision alone, a cancel
    row a sign alone; with `combine` the two are always apart.
#}
{% macro _fold_ctes(source, looked_up, settings, columns, batch) %}
{%- set unread = collapsing._rows_to_fold(source, settings, columns, batch) -%}
{%- if collapsing._engine(settings).looks_up -%}
{%- set touched = collapsing._touched_rows(looked_up, settings, columns, batch) if looked_up else none -%}
{{ collapsing._classified(unread, touched, settings, columns) }},
{%- else -%}
-- rows that carry their own sign all apply
classified as (
    select
        *,
        'applied' as ledger_decision
    from (
    {{ unread }}
    )
),
{%- endif %}

-- what follows from each decision
outcomes as (
    {{ collapsing._outcomes(settings, columns) }}
)
{%- endmacro %}


{#
    Returns CTEs that give each row its decision, beside the last state of its key; the last one is `classified`.

    unread    query of the rows to decide about, as _rows_to_fold returns it
    touched   query of what the ledger has of their keys, as _touched_rows returns it; none where nothing is looked up
    by_batch  whether the rows are of several batches, each decided about by itself: `unread` has the column ledger_batch, and
              `touched` the column ledger_before, the batch that its row came before
#}
{% macro _classified(unread, touched, settings, columns, by_batch=false) %}
{%- set engine, key = collapsing._engine(settings), settings.key -%}
{%- set by = key + ['ledger_batch'] if by_batch else key -%}
{%- set partition = collapsing._column_list(by) -%}
{%- set kept = collapsing._kept_columns(columns, settings) | map(attribute='name') | list -%}
{%- set skipped = ['ledger_skipped'] if engine.marks_skipped else [] -%}
{%- set passed_on = kept + ['ledger_delete', 'ledger_arrival', 'ledger_block', 'ledger_is_planned'] + skipped -%}
{%- set content = collapsing._content_columns(settings, columns) -%}
{%- set is_live = 'coalesce(last_state.ledger_sign = 1, false)' -%}
{%- set whole_key = 'partition by ' ~ partition ~ ' order by ' ~ collapsing._counting_order(settings, columns)
    ~ ' rows between unbounded preceding and unbounded following' -%}
-- the rows that are decided about
unread as (
    {{ unread }}
),

-- the one lookup: every row that the ledger has of their keys, and nothing else of it
touched as (
    {{ touched or collapsing._nothing_touched(settings, columns) }}
),

-- the last state of each of these keys: of its newest batch, there a state row or tombstone rather than a cancel row
last_state as (
    select *
    from (
        select
            *,
            row_number() over (
                partition by {{ collapsing._column_list(key + ['ledger_before'] if by_batch else key) }} order by {{ engine.last_state }}
            ) as ledger_rank
        from touched
    )
    where ledger_rank = 1
),

-- the rows of a key in the order in which they count
ranked as (
    select
        *,
        {{ collapsing._rank(settings, columns, by) }} as ledger_rank
        {%- if settings.version %},
        first_value(struct({{ collapsing._column_list(settings.version) }}, ledger_delete)) over ({{ whole_key }}) as ledger_winner
        {%- endif %},
        bool_or(not ledger_delete) over ({{ whole_key }}) as ledger_has_upserts
    from {{ engine.marks_skipped('unread', partition) if engine.marks_skipped else 'unread' }}
),

-- copies of one row: the one that decides is the first, then the others as they arrived
numbered as (
    select
        *,
        row_number() over (
            -- by key first, as they are sorted already
            partition by {{ collapsing._column_list((key + content) | unique | list) }}, ledger_delete{{ ', ledger_batch' if by_batch }}
            order by if(ledger_rank = 1, 0, 1), {{ collapsing._arrival_order(settings, columns) }}
        ) as ledger_copy
    from ranked
),

-- each row with its decision. `ledger_applies`, `order` in _rank and the order of arrival say who wins; `tie` only names a loser
classified as (
    select
        {{ 'incoming.*' if by_batch else collapsing._select_list(passed_on, of='incoming') }},
        struct({{ collapsing._column_list(kept + ['ledger_sign'], of='last_state') }}) as ledger_last_state,
        {{ collapsing._applies(engine, settings, columns) }} as ledger_applies,
        case
            when incoming.ledger_rank = 1 and ledger_applies and ledger_delete and not ledger_has_upserts and not {{ is_live }} then 'orphan_delete'
            when incoming.ledger_rank = 1 and ledger_applies then 'applied'
            when ledger_copy > 1 then 'duplicate'
            {%- if not settings.combine %}
            when {{ collapsing._equals_last_state(content) }} then 'duplicate'
            {%- endif %}
            {%- if engine.marks_skipped %}
            when ledger_skipped then 'superseded'
            {%- endif %}
            {%- if settings.version %}
            when {{ collapsing._compares(settings, 'incoming', '=', 'last_state') }} and ledger_delete <> {{ is_live }} then 'tie'
            when not ledger_applies then 'stale'
            when struct({{ collapsing._column_list(settings.version, 'incoming') }}, ledger_delete) = ledger_winner then 'tie'
            {%- endif %}
            else '{{ engine.otherwise }}'
        end as ledger_decision
        {%- if settings.combine and not by_batch %},
        -- keeps Spark from working out twice what `outcomes` reads twice
        monotonically_increasing_id() as ledger_row_id
        {%- endif %}
    from numbered as incoming
    left join last_state
        on {{ collapsing._same_key(key, 'incoming', 'last_state') }}{{ ' and incoming.ledger_batch = last_state.ledger_before' if by_batch }}
)
{%- endmacro %}


{# Returns the rank of a row in its batch, 1 for rows that could apply; with `combine` several rows of a key can. #}
{% macro _rank(settings, columns, by) %}
    {% set of_key = collapsing._column_list(by) %}
    {% if settings.combine %}{{ return(
        collapsing._engine(settings).rank_in_sequence
        | replace('{key}', of_key) | replace('{arrival}', collapsing._arrival_order(settings, columns))
    ) }}{% endif %}
    {{ return('row_number() over (partition by ' ~ of_key ~ ' order by ' ~ collapsing._counting_order(settings, columns) ~ ')') }}
{% endmacro %}


{# Returns the order in which the rows of a key in a batch count: the first of them decides what the key is afterwards. #}
{% macro _counting_order(settings, columns) %}
    {% set engine = collapsing._engine(settings) %}
    {% set arrival = collapsing._arrival_order(settings, columns, suffix=' desc' if engine.last_arrival else '') %}
    {{ return(engine.order ~ ', ' ~ arrival if engine.order else arrival) }}
{% endmacro %}


{#
    Returns the order in which rows of one batch arrived: by block, then order_by. Rows that nothing tells apart so count as arriving
    with a cancel row before a state row, then by their own values, a delete last. Columns that have no order (maps) settle nothing.
#}
{% macro _arrival_order(settings, columns, suffix='') %}
    {#- as a number: '+1' is text before '-1' -#}
    {% set sign = [collapsing._as_number(settings.sign) ~ suffix] if settings.is_signed else [] %}
    {% set kept = collapsing._comparable_columns(collapsing._kept_columns(columns, settings)) %}
    {% set rest = kept | reject('in', settings.order_by) | list %}
    {% set ordered = ['ledger_arrival' ~ suffix, collapsing._column_list(settings.order_by, suffix=suffix)] + sign %}
    {{ return((ordered + [collapsing._column_list(rest, suffix=suffix), 'ledger_delete' ~ suffix]) | select | join(', ')) }}
{% endmacro %}


{# Returns SQL that is true for a staged row that deletes its key. #}
{% macro _sql_is_delete(settings) %}
    {% if settings.sign and not settings.is_signed %}{{ return(collapsing._as_number(settings.sign) ~ ' = -1') }}{% endif %}
    {% if settings.is_deleted %}{{ return(collapsing._as_number(settings.is_deleted) ~ ' = 1') }}{% endif %}
    {{ return('false') }}
{% endmacro %}


{# Returns the columns by which a staged row is a copy of another: all but block token, order_by and what has no equality. #}
{% macro _content_columns(settings, columns) %}
    {% set of_arrival = settings.order_by | reject('in', settings.key + settings.version) | list %}
    {{ return(collapsing._comparable_columns(collapsing._kept_columns(columns, settings)) | reject('in', of_arrival) | list) }}
{% endmacro %}


{# Returns the engine's rule by which a row applies, given its key's last state. An upsert with a map differs from any other. #}
{% macro _applies(engine, settings, columns) %}
    {% set kept = collapsing._kept_columns(columns, settings) %}
    {% set comparable, content = collapsing._comparable_columns(kept), collapsing._content_columns(settings, columns) %}
    {% set has_map = comparable | length < kept | length %}
    {{ return(
        engine.applies | replace('{same_row}', 'false' if has_map else collapsing._equals_last_state(comparable))
        | replace('{same_content}', ('incoming.ledger_delete and ' if has_map else '') ~ collapsing._equals_last_state(content))
    ) }}
{% endmacro %}


{# Returns SQL that is true for a row that equals the last state of its key in the columns `names`, NULLs too. #}
{% macro _equals_last_state(names) %}
    {% set same = ['last_state.ledger_sign is not null', 'incoming.ledger_delete = (last_state.ledger_sign <> 1)'] %}
    {% for name in names %}
        {% do same.append('incoming.' ~ adapter.quote(name) ~ ' <=> last_state.' ~ adapter.quote(name)) %}
    {% endfor %}
    {{ return('(' ~ same | join(' and ') ~ ')') }}
{% endmacro %}


{#
    Returns the rows that a batch takes, with the columns of the fold. The lookup and the fold read the same ones: a row that landed between
    two readings of the stage would be folded without a lookup.
#}
{% macro _rows_to_fold(source, settings, columns, batch) -%}
{%- set names = collapsing._kept_columns(columns, settings) | map(attribute='name') | list -%}
{%- set rows -%}
select
            {{ collapsing._select_list(names, indent=12) }},
            {{ collapsing._sql_is_delete(settings) }} as ledger_delete,
            {{ collapsing._arrival(settings) }} as ledger_arrival,
            {{ collapsing._token(settings, columns) }} as ledger_block,
            {{ batch.planned or 'true' }} as ledger_is_planned
        from {{ source }}
        where
            {{ batch.takes or 'true' }}
{%- endset -%}
{%- set of_fold = ['ledger_delete', 'ledger_arrival', 'ledger_block', 'ledger_is_planned'] -%}
{{ collapsing._worked_out_once(rows, names + of_fold, settings) }}
{%- endmacro %}


{#
    Returns a query of the same rows, shuffled by key, for a CTE that is read twice. Spark copies a CTE into each place that reads it, unless a
    column of it is not deterministic; and it leaves out a shuffle by a column that the rows are shuffled by already, unless the column is
    worked out anew. The expression for the key is both, and changes no value.
#}
{% macro _worked_out_once(rows, names, settings) %}
{%- set first = settings.key[0] -%}
{%- set key = adapter.quote(first) -%}
select
        if(monotonically_increasing_id() < 0, null, {{ key }}) as {{ key }},
        {{ collapsing._select_list(names | reject('equalto', first)) }}
    from (
        {{ rows }}
    )
    distribute by {{ collapsing._column_list(settings.key) }}
{%- endmacro %}


{#
    Returns the rows that a ledger has of the keys of the CTE `unread`. Up to a million rows the keys go to every task, so that the
    ledger is not shuffled; the bounds are literals, so that files and row groups of other keys are not opened.
#}
{% macro _touched_rows(looked_up, settings, columns, batch) -%}
{%- set kept = collapsing._kept_columns(columns, settings) | map(attribute='name') | list -%}
{%- set places = ['ledger_place'] if collapsing._engine(settings).keeps_every_row else [] -%}
select{{ ' /*+ broadcast(unread) */' if batch.rows <= 1000000 }}
        {{ collapsing._select_list(kept + ['ledger_sign', 'ledger_batch'] + places, of='stored') }}
    from {{ looked_up }} as stored
    left semi join unread on {{ collapsing._same_key(settings.key, 'stored', 'unread') }}
    where
        {{ batch.visible or 'true' }}
        and {{ batch.bounds or 'true' }}
{%- endmacro %}


{# Returns what _touched_rows does of a ledger without rows; Spark leaves out what is joined with it. #}
{% macro _nothing_touched(settings, columns) -%}
{%- set system = [{'name': 'ledger_sign', 'dtype': 'tinyint'}] -%}
{%- for name in ['ledger_batch', 'ledger_place', 'ledger_before'] -%}
    {%- do system.append({'name': name, 'dtype': 'int'}) -%}
{%- endfor -%}
{{ collapsing._row_of_nulls(collapsing._kept_columns(columns, settings) + system) }} where false
{%- endmacro %}


{# Returns the query of `outcomes`: kept and system columns, ledger_decision and ledger_is_planned. #}
{% macro _outcomes(settings, columns) %}
    {% set is_kept = collapsing._engine(settings).keeps_every_row and not settings.combine %}
    {% set of_rows = collapsing._outcomes_as_they_are if is_kept else collapsing._outcomes_of_events %}
    {% set names = collapsing._appended_names(settings, columns) + ['ledger_decision', 'ledger_is_planned'] %}
    {{ return(collapsing._worked_out_once(of_rows(settings, columns), names, settings)) }}
{% endmacro %}


{# Returns the names of the columns that a fold appends. #}
{% macro _appended_names(settings, columns) %}
    {% set names = collapsing._kept_columns(columns, settings) | map(attribute='name') | list + ['ledger_sign', 'ledger_block'] %}
    {{ return(names + (['ledger_place'] if collapsing._engine(settings).keeps_every_row else [])) }}
{% endmacro %}


{#
    Returns the outcomes of events: one that applies leaves a cancel row, an exact copy of the state row that it cancels, and its own
    row, a state row or for a delete a tombstone. With `combine` the last state that the key's events make together leaves these rows, and
    the decisions about the events are rows of their own.
#}
{% macro _outcomes_of_events(settings, columns) %}
{%- set kept = collapsing._kept_columns(columns, settings) | map(attribute='name') | list -%}
{%- set engine, combines = collapsing._engine(settings), settings.combine | length > 0 -%}
{%- set applies = 'ledger_applied' if combines else "ledger_decision in ('applied', 'orphan_delete')" -%}
{#- NULL for a row that is not appended -#}
{%- set own = 'if(' ~ applies ~ ', if(ledger_delete, ' ~ (0 if engine.tombstones else 'null') ~ ', 1), null)' -%}
{%- set signs = 'array(' ~ own ~ ')' if not engine.cancels
    else 'if(' ~ applies ~ ' and ledger_last_state.ledger_sign = 1, array(-1, ' ~ own ~ '), array(' ~ own ~ '))' -%}
select
        {%- for name in kept %}
        {%- set name = adapter.quote(name) %}
        {{ 'if(outcome.ledger_sign <=> -1, ledger_last_state.' ~ name ~ ', ' ~ name ~ ') as ' if engine.cancels }}{{ name }},
        {%- endfor %}
        cast(outcome.ledger_sign as tinyint) as ledger_sign,
        ledger_block,
        {%- if engine.keeps_every_row %}
        1 as ledger_place,
        {%- endif %}
        {%- if combines %}
        null as ledger_decision,
        null as ledger_is_planned
    from {{ collapsing._combined('classified', settings, columns) }}
        {%- else %}
        if(outcome.ledger_sign <=> -1, null, ledger_decision) as ledger_decision,
        if(outcome.ledger_sign <=> -1, null, ledger_is_planned) as ledger_is_planned
    from classified
        {%- endif %}
    lateral view explode({{ signs }}) outcome as ledger_sign
    {%- if combines %}
    union all
    select
        {{ collapsing._select_list(kept) }},
        null as ledger_sign,
        ledger_block,
        {%- if engine.keeps_every_row %}
        null as ledger_place,
        {%- endif %}
        ledger_decision,
        ledger_is_planned
    from classified
    {%- endif %}
{%- endmacro %}


{#
    Returns the outcomes for a ledger that keeps every row, as it is: of rows that carry their own sign, and of the engine replacing.
    `ledger_place` is the row's place among its key's rows in its batch.
#}
{% macro _outcomes_as_they_are(settings, columns) %}
select
        {{ collapsing._select_list(collapsing._kept_columns(columns, settings) | map(attribute='name')) }},
        {{ collapsing._own_sign(settings) }} as ledger_sign,
        ledger_block,
        row_number() over (
            partition by {{ collapsing._column_list(settings.key) }}
            order by {{ collapsing._arrival_order(settings, columns) }}
        ) as ledger_place,
        ledger_decision,
        ledger_is_planned
    from classified
{%- endmacro %}


{# Returns SQL for the sign of a row that is appended as it is. #}
{% macro _own_sign(settings) %}
    {{ return(
        'try_cast(' ~ collapsing._as_number(settings.sign) ~ ' as tinyint)' if settings.is_signed
        else 'cast(if(ledger_delete, 0, 1) as tinyint)'
    ) }}
{% endmacro %}
