{#
    The fold of ledgers that append rows as they are: rows that carry their own sign, and the engine replacing. Nothing is
    looked up. Arguments as for _fold.

    Without a block token the whole stage is read again by every run; rows that the ledger holds already, as often as it
    holds them, are then left out.
#}
{% macro _append_rows(stage, ledger, settings, columns, batch) %}
{%- set kept = collapsing._kept_columns(columns, settings) | map(attribute='name') | list -%}
{%- set whole_stage = ledger and not settings.block -%}
with

{{ collapsing._unread_rows(stage, settings, kept, batch) }},

arrived as (
    select
        {{ collapsing._select_list(kept) }},
        {{ collapsing._own_sign(settings) }} as ledger_sign,
        ledger_arrival,
        ledger_block
    from unread
    {%- if whole_stage %}
    except all
    select
        {{ collapsing._select_list(kept) }},
        ledger_sign,
        cast(null as string) as ledger_arrival,
        ledger_block
    from {{ ledger }}
    {%- endif %}
)

select
    {{ collapsing._select_list(kept, indent=4) }},
    ledger_sign,
    ledger_block,
    row_number() over (
        partition by {{ collapsing._row_list(settings.key) }} order by {{ collapsing._arrival_order(settings, columns) }}
    ) as ledger_place,
    {{ batch.number }} as ledger_batch
from arrived
{% endmacro %}


{# Gives SQL for the sign of a row that is appended as it is. #}
{% macro _own_sign(settings) %}
    {{ return(
        'cast(' ~ adapter.quote(settings.sign) ~ ' as tinyint)' if settings.input == 'signed'
        else 'cast(if(ledger_delete, 0, 1) as tinyint)'
    ) }}
{% endmacro %}
