{#
    The fold of the engine versioned_collapsing with input: events. Gives the rows that one batch appends to its ledger:
    cancel rows (-1), state rows (1) and tombstones (0).

    An event counts when it is strictly newer than the last one its key has seen, by (version, delete after update); the
    key's stored state row is then taken back by an exact copy with sign -1. A delete leaves a tombstone, so that what
    arrives late and is older than the delete stays out.

    stage     relation or subquery of the staged rows, system columns not among them
    ledger    relation of the ledger, or none when it is built from nothing
    settings  as _ledger_settings gives them
    columns   the stage's columns, a list of {name, dtype}
    batch     as _take_batch gives it: number, unread, bounds, rows
#}
{% macro _fold_versioned_collapsing(stage, ledger, settings, columns, batch) %}
{%- set key = settings.key -%}
{%- set kept = collapsing._kept_columns(columns, settings) | map(attribute='name') | list -%}
with

{{ collapsing._unread_rows(stage, settings, kept, batch) }},

{% if ledger -%}
{{ collapsing._touched_rows(ledger, settings, batch) }},

-- what each of them has seen last: in its newest batch the state row or tombstone, not the cancel row
stored as (
    select *
    from (
        select
            *,
            row_number() over (
                partition by {{ collapsing._row_list(key) }} order by ledger_batch desc, ledger_sign desc
            ) as ledger_place
        from touched
    )
    where ledger_place = 1
),

{% endif -%}
{% if settings.combine -%}
{{ collapsing._combined_events(ledger, settings, columns) }}
{%- else -%}
{{ collapsing._newest_events(settings, kept) }}
{%- endif %}

select
    {%- for column in kept %}
    {%- set name = adapter.quote(column) %}
    {{ 'if(emitted.ledger_sign = -1, stored.' ~ name ~ ', arrived.' ~ name ~ ')' if ledger else 'arrived.' ~ name }} as {{ name }},
    {%- endfor %}
    cast(emitted.ledger_sign as tinyint) as ledger_sign,
    arrived.ledger_block,
    {{ batch.number }} as ledger_batch
from {{ 'combined' if settings.combine else 'arrived' }}
{%- if ledger and not settings.combine %}
left join stored on {{ collapsing._same_key(key, 'arrived', 'stored') }}
{%- endif %}
lateral view explode(
    {{ collapsing._emitted_signs(ledger, settings) }}
) emitted as ledger_sign
where
    {{ collapsing._applies(ledger, settings) }}
{% endmacro %}


{# Gives the CTE `unread`: the rows that a batch takes, with the package's words for what they are. #}
{% macro _unread_rows(stage, settings, kept, batch) -%}
-- the rows that this batch takes
unread as (
    select
        {{ collapsing._select_list(kept) }},
        {{ collapsing._is_delete(settings) }} as ledger_delete,
        {{ adapter.quote(settings.block) if settings.block else 'cast(null as string)' }} as ledger_arrival,
        cast({{ adapter.quote(settings.block) if settings.block else 'null' }} as string) as ledger_block
    from {{ stage }}
    {%- if batch.unread %}
    where {{ batch.unread }}
    {%- endif %}
)
{%- endmacro %}


{# Gives the CTE `touched`. Up to a million rows the batch's keys go to every task, so that the ledger is not shuffled. #}
{% macro _touched_rows(ledger, settings, batch) -%}
-- every row that the ledger holds of the batch's keys, and nothing else of it
touched as (
    select {{ '/*+ broadcast(unread) */ ' if batch.rows <= 1000000 }}stored.*
    from {{ ledger }} as stored
    left semi join unread on {{ collapsing._same_key(settings.key, 'stored', 'unread') }}
    {%- if batch.bounds %}
    where
        {{ batch.bounds }}
    {%- endif %}
)
{%- endmacro %}


{# Gives SQL that is true for a staged row that deletes its key. #}
{% macro _is_delete(settings) %}
    {% if settings.sign %}
        {{ return(adapter.quote(settings.sign) ~ ' = -1') }}
    {% elif settings.is_deleted %}
        {{ return('cast(' ~ adapter.quote(settings.is_deleted) ~ ' as int) = 1') }}
    {% endif %}
    {{ return('false') }}
{% endmacro %}


{#
    Gives the CTE `arrived`: one event a key, the one that decides. Of events equal in version the first to arrive counts
    (by block, then order_by, then the row's own values), as a stored row wins over an equal one that arrives later.
#}
{% macro _newest_events(settings, kept) %}
{%- set key = collapsing._row_list(settings.key) -%}
{%- set first_arrived = collapsing._arrival_order(settings, kept) -%}
{%- if settings.deletes == 'versioned' -%}
-- one event a key: the newest by (version, delete after update)
arrived as (
    select *
    from (
        select
            *,
            row_number() over (
                partition by {{ key }}
                order by {{ collapsing._row_list(settings.version, suffix=' desc') }}, ledger_delete desc, {{ first_arrived }}
            ) as ledger_place
        from unread
    )
    where ledger_place = 1
)
{%- else -%}
{{ collapsing._standing_events(settings) }},

-- a delete that stands has no version: it ends all that its key was before its block
survivors as (
    select *
    from (
        select
            *,
            max(if(ledger_delete, struct(ledger_arrival), null)) over (partition by {{ key }}) as ledger_deleted_in
        from standing
    )
    where ledger_deleted_in is null or struct(ledger_arrival) >= ledger_deleted_in
),

-- one event a key: the newest upsert after its last delete, or that delete
arrived as (
    select *
    from (
        select
            *,
            row_number() over (
                partition by {{ key }}
                order by ledger_delete, {{ collapsing._row_list(settings.version, suffix=' desc') }}, {{ first_arrived }}
            ) as ledger_place
        from survivors
    )
    where ledger_place = 1
)
{%- endif -%}
{% endmacro %}


{# Gives SQL for the signs of the rows that an event leaves: the stored state row is cancelled, then comes the event's own row. #}
{% macro _emitted_signs(ledger, settings) %}
    {% set cancel = ['if(stored.ledger_sign = 1, -1, null)'] if ledger else [] %}
    {% set own = ['if(arrived.ledger_delete, ' ~ ('null' if settings.deletes == 'unversioned' else '0') ~ ', 1)'] %}
    {{ return('array_compact(array(' ~ (cancel + own) | join(', ') ~ '))') }}
{% endmacro %}


{# Gives the keep rule: SQL that is true for an event that changes what its key is. #}
{% macro _applies(ledger, settings) %}
    {% set unversioned = settings.deletes == 'unversioned' %}
    {% if settings.combine %}
        {{ return('arrived.ledger_applied') }}
    {% elif not ledger %}
        {{ return('not arrived.ledger_delete' if unversioned else 'true') }}
    {% endif %}
    {% set arrived = collapsing._one_value(settings.version, 'arrived') %}
    {% set stored = collapsing._one_value(settings.version, 'stored') %}
    {% set newer, same = arrived ~ ' > ' ~ stored, arrived ~ ' = ' ~ stored %}
    {% if unversioned %}
        {{ return(
            'if(\n        arrived.ledger_delete or arrived.ledger_deleted_in is not null,'
            ~ '\n        not arrived.ledger_delete or stored.ledger_sign = 1,'
            ~ '\n        coalesce(stored.ledger_sign, -1) = -1 or ' ~ newer ~ '\n    )'
        ) }}
    {% endif %}
    {{ return(
        'stored.ledger_sign is null'
        ~ '\n    or ' ~ newer
        ~ '\n    or (' ~ same ~ ' and arrived.ledger_delete and stored.ledger_sign = 1)'
    ) }}
{% endmacro %}


{# Gives the order in which rows of one batch arrived: by block, then order_by; the row's own values settle what is left. #}
{% macro _arrival_order(settings, kept) %}
    {{ return('ledger_arrival, ' ~ collapsing._row_list(settings.order_by + (kept | reject('in', settings.order_by) | list))) }}
{% endmacro %}


{# Gives the CTE `standing`: the unread events of a ledger whose deletes follow arrival, less those that only replace a row. #}
{% macro _standing_events(settings) -%}
-- a delete beside an upsert of its own key and block means a replacement, and is not there
standing as (
    select *
    from (
        select
            *,
            bool_or(not ledger_delete) over (
                partition by {{ collapsing._row_list(settings.key) }}, ledger_arrival
            ) as ledger_replaces
        from unread
    )
    where not (ledger_delete and ledger_replaces)
)
{%- endmacro %}
