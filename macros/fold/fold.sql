{#
    Returns the query of the rows that one batch appends to a ledger: what a run executes in two steps, with `classified` cached between.

    source    what can stand behind `from` for the staged rows
    ledger    relation of the ledger, or none when it is built from nothing
    settings  as _ledger_settings returns them
    columns   the stage's columns, a list of {name, dtype}
    batch     as _plan_batch returns it: number, is_numbered, takes, bounds, rows, voided
#}
{% macro _fold(source, ledger, settings, columns, batch) -%}
with

{{ collapsing._classified_batch(source, ledger, settings, columns, batch) }}

{{ collapsing._rows_to_append('classified', ledger, settings, columns) }}
{%- endmacro %}


{# Returns the CTE `classified` of a batch, with the CTEs that it needs. An engine without a lookup takes every row. #}
{% macro _classified_batch(source, ledger, settings, columns, batch) %}
    {% set unread = collapsing._unread_rows(source, settings, columns, batch) %}
    {% if not collapsing._engine(settings).looks_up %}{{ return(collapsing._all_applied(unread)) }}{% endif %}
    {% set touched = collapsing._touched_rows(ledger, settings, columns, batch) if ledger else none %}
    {{ return(collapsing._classified(unread, touched, settings, columns)) }}
{% endmacro %}


{# Returns the CTE `classified` of rows that all apply. #}
{% macro _all_applied(query) -%}
classified as (
    select
        *,
        'applied' as ledger_decision
    from (
    {{ query }}
    )
)
{%- endmacro %}


{#
    Returns CTEs that give each unread row its decision, beside the last state of its key; the last one is `classified`. A run
    caches its rows: what is appended, and how many rows came to which decision, both follow from them.

    unread    SQL of the rows to decide about, as _unread_rows returns it
    touched   SQL of what the ledger has of their keys, as _touched_rows returns it; none where nothing is looked up
    by_batch  whether the rows are of several batches, each decided about by itself: `unread` has the column ledger_batch, and
              `touched` the column ledger_before, the batch that its row came before
#}
{% macro _classified(unread, touched, settings, columns, by_batch=false) %}
{%- set engine, key = collapsing._engine(settings), settings.key -%}
{%- set by = key + ['ledger_batch'] if by_batch else key -%}
{%- set partition = collapsing._column_list(by) -%}
{%- set kept = collapsing._kept_columns(columns, settings) | map(attribute='name') | list -%}
{%- set skipped = ['ledger_skipped'] if engine.unread else [] -%}
{%- set passed_on = kept + ['ledger_delete', 'ledger_arrival', 'ledger_block', 'ledger_batch'] + skipped -%}
{%- set whole_key = 'partition by ' ~ partition ~ ' order by ' ~ collapsing._counting_order(settings, columns)
    ~ ' rows between unbounded preceding and unbounded following' -%}
-- the rows that are decided about
unread as (
    {{ unread }}
),
{%- if touched %}

-- the one lookup: every row that the ledger has of their keys, and nothing else of it
touched as (
    {{ touched }}
),

-- the last state of each of these keys{{ '; of the rows of one batch a cancel row comes last' if engine.cancels }}
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
{%- endif %}

-- the rows of a key in the order in which they count
ranked as (
    select
        *,
        {{ collapsing._rank(settings, columns, by) }} as ledger_rank
        {%- if settings.version %},
        first_value(struct({{ collapsing._column_list(settings.version) }}, ledger_delete)) over ({{ whole_key }}) as ledger_winner
        {%- endif %},
        bool_or(not ledger_delete) over ({{ whole_key }}) as ledger_has_upserts
    from {{ engine.unread('unread', partition) if engine.unread else 'unread' }}
),

-- copies of one row: the one that decides is the first, then the others as they arrived
numbered as (
    select
        *,
        row_number() over (
            partition by {{ collapsing._column_list(collapsing._content_columns(settings, columns)) }}, ledger_delete
            order by {{ 'ledger_batch, ' if by_batch }}if(ledger_rank = 1, 0, 1), {{ collapsing._arrival_order(settings, columns) }}
        ) as ledger_copy
    from ranked
),

-- each row with its decision
classified as (
    select
        {{ 'incoming.*' if by_batch else collapsing._select_list(passed_on, of='incoming') }},
        {%- if touched %}
        struct({{ collapsing._column_list(kept + ['ledger_sign'], of='last_state') }}) as ledger_last_state,
        {{ collapsing._applies(engine, settings, columns) }} as ledger_applies,
        {%- endif %}
        {{ collapsing._decision(settings, columns, touched) }} as ledger_decision
    from numbered as incoming
    {%- if touched %}
    left join last_state
        on {{ collapsing._same_key(key, 'incoming', 'last_state') }}{{ ' and incoming.ledger_batch = last_state.ledger_before' if by_batch }}
    {%- endif %}
)
{%- endmacro %}


{#
    Returns the rows that a batch takes, with the columns of the fold. In a run the batch number comes with them: a literal that changes
    with each run would mean newly generated, cold code each time.
#}
{% macro _unread_rows(source, settings, columns, batch) -%}
select
        {{ collapsing._select_list(collapsing._kept_columns(columns, settings) | map(attribute='name')) }},
        {{ collapsing._sql_is_delete(settings) }} as ledger_delete,
        {{ collapsing._arrival(settings) }} as ledger_arrival,
        {{ collapsing._token(settings, columns) }} as ledger_block,
        {{ 'ledger_batch' if batch.is_numbered else batch.number ~ ' as ledger_batch' }}
    from {{ source }}
    {%- if batch.takes %}
    where {{ batch.takes }}
    {%- endif %}
{%- endmacro %}


{#
    Returns the rows that a ledger has of the keys of the CTE `unread`. Up to a million rows the keys go to every task, so that the
    ledger is not shuffled; the bounds are literals, so that files and row groups of other keys are not opened.
#}
{% macro _touched_rows(ledger, settings, columns, batch) -%}
{%- set kept = collapsing._kept_columns(columns, settings) | map(attribute='name') | list -%}
{%- set places = ['ledger_place'] if collapsing._engine(settings).keeps_every_row else [] -%}
select{{ ' /*+ broadcast(unread) */' if collapsing._is_broadcast(batch.rows) }}
        {{ collapsing._select_list(kept + ['ledger_sign', 'ledger_batch'] + places, of='stored') }}
    from {{ ledger }} as stored
    left semi join unread on {{ collapsing._same_key(settings.key, 'stored', 'unread') }}
    {%- if batch.bounds or batch.voided %}
    where
        {{ batch.bounds or 'true' }}
        {%- if batch.voided %}
        and stored.ledger_batch not in ({{ batch.voided | join(', ') }})
        {%- endif %}
    {%- endif %}
{%- endmacro %}
