{#
    The fold of events: rows that say what a key is from now on, or that it is deleted. Gives cancel rows (-1), state rows (1)
    and tombstones (0). The batch's keys are looked up in the ledger; of the unread events of a key one decides (`arrived`, the
    engine says which); where it changes what the key is, the key's stored state row is taken back by an exact copy with
    sign -1, and the event's own row follows. Arguments as for _fold.
#}
{% macro _fold_events(stage, ledger, settings, columns, batch) %}
{%- set kept = collapsing._kept_columns(columns, settings) | map(attribute='name') | list -%}
with

{{ collapsing._unread_rows(stage, settings, kept, batch) }},

{% if ledger -%}
{{ collapsing._touched_rows(ledger, settings, batch) }},

{{ collapsing._stored_rows(settings) }},

{% endif -%}
{% if settings.combine -%}
{{ collapsing._combined_events(ledger, settings, columns) }}
{%- else -%}
{{ collapsing._deciding_events(settings, columns) }}
{%- endif %}

select
    {%- for column in kept %}
    {%- set name = adapter.quote(column) %}
    {{ 'if(emitted.ledger_sign = -1, stored.' ~ name ~ ', arrived.' ~ name ~ ')' if ledger else 'arrived.' ~ name }} as {{ name }},
    {%- endfor %}
    cast(emitted.ledger_sign as tinyint) as ledger_sign,
    arrived.ledger_block,
    {%- if collapsing._keeps_every_row(settings) %}
    1 as ledger_place,
    {%- endif %}
    {{ batch.number }} as ledger_batch
from {{ 'combined' if settings.combine else 'arrived' }}
{%- if ledger and not settings.combine %}
left join stored on {{ collapsing._same_key(settings.key, 'arrived', 'stored') }}
{%- endif %}
lateral view explode(
    {{ collapsing._emitted_signs(ledger, settings) }}
) emitted as ledger_sign
where
    {{ collapsing._applies(ledger, settings, columns) }}
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
    {%- if batch.bounds or batch.undone %}
    where
        {{ batch.bounds or 'true' }}
        {%- if batch.undone %}
        and stored.ledger_batch not in ({{ batch.undone | sum(start=[]) | join(', ') }})
        {%- endif %}
    {%- endif %}
)
{%- endmacro %}


{# Gives the CTE `stored`. #}
{% macro _stored_rows(settings) -%}
{%- if settings.engine == 'replacing' -%}
-- what each of them is now: its winning row
{%- set newest_first = collapsing._winner_first(settings) -%}
{%- else -%}
-- what each of them has seen last: in its newest batch the state row or tombstone, not the cancel row
{%- set newest_first = 'ledger_batch desc, ledger_sign desc' -%}
{%- endif %}
stored as (
    select *
    from (
        select
            *,
            row_number() over (
                partition by {{ collapsing._row_list(settings.key) }} order by {{ newest_first }}
            ) as ledger_rank
        from touched
    )
    where ledger_rank = 1
)
{%- endmacro %}


{# Gives SQL that is true for a staged row that deletes its key. #}
{% macro _is_delete(settings) %}
    {% if settings.input == 'signed' %}
        {{ return('false') }}
    {% elif settings.sign %}
        {{ return(collapsing._as_mark(settings.sign) ~ ' = -1') }}
    {% elif settings.is_deleted %}
        {{ return(collapsing._as_mark(settings.is_deleted) ~ ' = 1') }}
    {% endif %}
    {{ return('false') }}
{% endmacro %}


{# Gives the CTE `arrived`: one event a key, the one that decides; before it `standing`, where deletes follow arrival. #}
{% macro _deciding_events(settings, columns) -%}
{%- if settings.deletes == 'unversioned' -%}
{{ collapsing._standing_events(settings.key) }},

{% endif -%}
-- one event a key: the one that comes first in the engine's order
arrived as (
    select *
    from (
        select
            *,
            row_number() over (
                partition by {{ collapsing._row_list(settings.key) }}
                order by {{ collapsing._deciding_order(settings, columns) }}
            ) as ledger_rank
        from {{ 'standing' if settings.deletes == 'unversioned' else 'unread' }}
    )
    where ledger_rank = 1
)
{%- endmacro %}


{# Gives the order in which the events of a key in a batch decide: what the key is afterwards is what the first of them says. #}
{% macro _deciding_order(settings, columns) %}
    {% if settings.engine in ['collapsing', 'replacing'] %}
        {% set version = [collapsing._row_list(settings.version, suffix=' desc')] if settings.version else [] %}
        {{ return((version + [collapsing._arrival_order(settings, columns, suffix=' desc')]) | join(', ')) }}
    {% elif settings.engine == 'deduplicating' %}
        {{ return(collapsing._arrival_order(settings, columns)) }}
    {% endif %}
    {{ return(collapsing._newest_first(settings, columns)) }}
{% endmacro %}


{# Gives SQL for the signs of the rows that an event leaves: the stored state row is cancelled, then comes the event's own row. #}
{% macro _emitted_signs(ledger, settings) %}
    {% set cancel = ['if(stored.ledger_sign = 1, -1, null)'] if ledger and settings.engine != 'replacing' else [] %}
    {% set own = ['if(arrived.ledger_delete, ' ~ ('0' if collapsing._keeps_tombstones(settings) else 'null') ~ ', 1)'] %}
    {{ return('array_compact(array(' ~ (cancel + own) | join(', ') ~ '))') }}
{% endmacro %}


{# Gives whether a delete leaves a tombstone: only where an older event that arrives after it has to stay out. #}
{% macro _keeps_tombstones(settings) %}
    {{ return(
        settings.engine == 'replacing' or (settings.engine == 'versioned_collapsing' and settings.deletes == 'versioned')
    ) }}
{% endmacro %}


{# Gives the keep rule: SQL that is true for an event that changes what its key is. #}
{% macro _applies(ledger, settings, columns) %}
    {% if settings.combine %}
        {{ return('arrived.ledger_applied') }}
    {% elif settings.engine == 'collapsing' %}
        {{ return(collapsing._last_event_applies(ledger, settings, columns)) }}
    {% endif %}
    {{ return(collapsing._newest_event_applies(ledger, settings)) }}
{% endmacro %}


{#
    Gives the order in which rows of one batch arrived: by block, then order_by; then a cancel row before a state row, and
    the row's own values settle what is left. Columns that have no order (maps) settle nothing.
#}
{% macro _arrival_order(settings, columns, suffix='') %}
    {% set first = settings.order_by + ([settings.sign] if settings.input == 'signed' else []) %}
    {% set rest = collapsing._comparable_columns(collapsing._kept_columns(columns, settings)) | reject('in', first) | list %}
    {{ return('ledger_arrival' ~ suffix ~ ', ' ~ collapsing._row_list(first + rest, suffix=suffix)) }}
{% endmacro %}
