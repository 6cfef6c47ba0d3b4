{#
    Returns the query of the rows that one batch appends to a ledger: what a run executes in two steps, with `classified` cached between.

    source    what can stand behind `from` for the staged rows
    ledger    relation of the ledger, or none when it is built from nothing
    settings  as _ledger_settings returns them
    columns   the stage's columns, a list of {name, dtype}
    batch     as _plan_batch returns it: number, is_numbered, takes, bounds, rows, voided; and each_key_once, as _has_each_key_once does
#}
{% macro _fold(source, ledger, settings, columns, batch) -%}
with

{{ collapsing._classified_batch(source, ledger, settings, columns, batch) }}

{{ collapsing._rows_to_append('classified', ledger, settings, columns, batch.voided) }}
{%- endmacro %}


{# Returns the CTE `classified` of a batch, with the CTEs that it needs. An engine without a lookup takes every row. #}
{% macro _classified_batch(source, ledger, settings, columns, batch) %}
    {% set unread = collapsing._unread_rows(source, settings, columns, batch) %}
    {% if collapsing._engine(settings).looks_up %}
        {% set touched = collapsing._touched_rows(ledger, settings, columns, batch) if ledger else none %}
        {{ return(collapsing._classified(unread, touched, settings, columns, each_key_once=batch.each_key_once)) }}
    {% endif %}
    {{ return(collapsing._all_applied(unread)) }}
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


{# Returns the query of the rows that a batch appends; `classified` is what can stand behind `from` for its classified rows. #}
{% macro _rows_to_append(classified, ledger, settings, columns, voided) %}
    {% do return(collapsing._rows_as_they_are(classified, ledger, settings, columns, voided))
        if collapsing._engine(settings).keeps_every_row and not settings.combine %}
    {% set rows = collapsing._combined(classified, settings, columns, looked_up=ledger) if settings.combine else classified %}
    {{ return(collapsing._rows_of_events(rows, settings, columns, looked_up=ledger)) }}
{% endmacro %}


{#
    Returns CTEs that give each unread row its decision, beside the last state of its key; the last one is `classified`. A run
    caches its rows: what is appended, and how many rows came to which decision, both follow from them.

    unread    SQL of the rows to decide about, as _unread_rows returns it
    touched   SQL of what the ledger has of their keys, as _touched_rows returns it; none where nothing is looked up
    by_batch  whether the rows are of several batches, each decided about by itself: `unread` has the column ledger_batch, and
              `touched` the column ledger_before, the batch that its row came before
    each_key_once   whether no key has a second row, so that nothing has to be sorted
#}
{% macro _classified(unread, touched, settings, columns, by_batch=false, each_key_once=false) %}
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
{%- if each_key_once %}

{{ collapsing._numbered_alone(settings) }},
{%- else %}

-- the rows of a key in the order in which they count
ranked as (
    select
        *,
        {{ collapsing._rank(settings, columns, by) }} as ledger_rank
        {%- if settings.version %},
        first_value(struct({{ collapsing._column_list(settings.version) }}, ledger_delete)) over ({{ whole_key }}) as ledger_winner
        {%- endif %}
        {%- if settings.has_deletes %},
        bool_or(not ledger_delete) over ({{ whole_key }}) as ledger_has_upserts
        {%- endif %}
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
{%- endif %}

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


{# Returns the CTE `numbered` of _classified for rows of which each is the only one of its key. #}
{% macro _numbered_alone(settings) -%}
-- each row is the first of its key, and a copy of no other
numbered as (
    select
        *,
        1 as ledger_rank,
        {%- if settings.version %}
        struct({{ collapsing._column_list(settings.version) }}, ledger_delete) as ledger_winner,
        {%- endif %}
        {%- if settings.has_deletes %}
        not ledger_delete as ledger_has_upserts,
        {%- endif %}
        1 as ledger_copy
    from unread
)
{%- endmacro %}


{#
    Returns the rows that a batch appends: an event that applies leaves a cancel row, an exact copy of the state row that it takes
    back, and its own row, a state row or for a delete a tombstone.

    source      what can stand behind `from` for the rows of `classified`
    looked_up   whether they have the last state of their key
#}
{% macro _rows_of_events(source, settings, columns, looked_up) %}
{%- set engine = collapsing._engine(settings) -%}
{%- set cancels = looked_up and engine.cancels -%}
select
    {%- for column in collapsing._kept_columns(columns, settings) %}
    {%- set name = adapter.quote(column.name) %}
    {{ 'if(appended.ledger_sign = -1, ledger_last_state.' ~ name ~ ', ' ~ name ~ ') as ' ~ name if cancels else name }},
    {%- endfor %}
    cast(appended.ledger_sign as tinyint) as ledger_sign,
    ledger_block,
    {%- if engine.keeps_every_row %}
    1 as ledger_place,
    {%- endif %}
    ledger_batch
from {{ source }}
lateral view explode({{ collapsing._signs_of_event(settings, looked_up) }}) appended as ledger_sign
where {{ collapsing._sql_is_applied(settings) }} and appended.ledger_sign is not null
{%- endmacro %}


{# Returns SQL for the signs of the rows that an event appends if it applies; NULL stands for none. #}
{% macro _signs_of_event(settings, looked_up) %}
    {% set engine = collapsing._engine(settings) %}
    {% set cancel = ['if(ledger_last_state.ledger_sign = 1, -1, null)'] if looked_up and engine.cancels else [] %}
    {% set own = 'if(ledger_delete, ' ~ (0 if engine.tombstones else 'null') ~ ', 1)' %}
    {{ return('array(' ~ (cancel + [own]) | join(', ') ~ ')') }}
{% endmacro %}


{# Returns SQL that is true for a classified row, or with `combine` for what a key's rows made of it, that applies. #}
{% macro _sql_is_applied(settings) %}
    {{ return('ledger_applied' if settings.combine else "ledger_decision in ('applied', 'orphan_delete')") }}
{% endmacro %}


{#
    Returns the rows that a batch appends to a ledger that keeps every row, as they are: rows that carry their own sign, and the
    engine replacing. `ledger_place` is the row's place among its key's rows in its batch.

    Without a block token the whole stage is read again by every run; rows that the ledger has already, as often as it
    has them, are then left out; those of a batch that was taken back are not among them.
#}
{% macro _rows_as_they_are(classified, ledger, settings, columns, voided) %}
{%- set kept = collapsing._kept_columns(columns, settings) | map(attribute='name') | list -%}
{%- set compares = ledger and not settings.block -%}
{%- set texts = [] -%}
{#- `except` takes texts that a collation regards as equal for one, and gives -0.0 back as 0.0: so not floats -#}
{%- for column in collapsing._kept_columns(columns, settings) if compares and collapsing._has_collation(column.dtype)
    and not modules.re.search('(^|[<:,])(float|double)($|[,>])', column.dtype) -%}
    {%- do texts.append('cast(' ~ adapter.quote(column.name) ~ ' as string) as ledger_text_' ~ loop.index) -%}
{%- endfor -%}
{%- set texts = texts | join(',\n        ') ~ ',\n        ' if texts else '' -%}
select
    {{ collapsing._select_list(kept, indent=4) }},
    ledger_sign,
    ledger_block,
    row_number() over (
        partition by {{ collapsing._column_list(settings.key) }}
        order by {{ collapsing._arrival_order(settings, columns, delete='ledger_sign desc') }}
    ) as ledger_place,
    {{ '(select max(ledger_batch) from ' ~ classified ~ ') as ledger_batch' if compares else 'ledger_batch' }}
from (
    select
        {{ collapsing._select_list(kept) }},
        {{ texts }}{{ collapsing._own_sign(settings) }} as ledger_sign,
        ledger_arrival,
        ledger_block
        {%- if not compares %},
        ledger_batch
        {%- endif %}
    from {{ classified }}
    {%- if compares %}
    except all
    select
        {{ collapsing._select_list(kept) }},
        {{ texts }}ledger_sign,
        cast(null as string) as ledger_arrival,
        ledger_block
    from {{ collapsing._rows_not_in(ledger, voided) }}
    {%- endif %}
)
{%- endmacro %}


{# Returns SQL for the sign of a row that is appended as it is. #}
{% macro _own_sign(settings) %}
    {{ return(
        'try_cast(' ~ collapsing._as_number(settings.sign) ~ ' as tinyint)' if settings.is_signed
        else 'cast(if(ledger_delete, 0, 1) as tinyint)'
    ) }}
{% endmacro %}


{#
    Returns the rows that a batch takes, with the columns of the fold. In a run the batch number comes with them: a literal that changes
    with each run would mean newly generated, cold code each time.
#}
{% macro _unread_rows(source, settings, columns, batch) -%}
select
        {{ collapsing._select_list(collapsing._kept_columns(columns, settings) | map(attribute='name')) }},
        {{ collapsing._sql_is_delete(settings) }} as ledger_delete,
        {{ collapsing._arrival(settings, columns) }} as ledger_arrival,
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
