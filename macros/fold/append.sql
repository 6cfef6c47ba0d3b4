{# Returns the query of the rows that a batch appends; `classified` is what can stand behind `from` for its classified rows. #}
{% macro _rows_to_append(classified, ledger, settings, columns) %}
    {% if collapsing._engine(settings).keeps_every_row and not settings.combine %}
        {{ return(collapsing._rows_as_they_are(classified, settings, columns)) }}
    {% endif %}
    {% set rows = collapsing._combined(classified, settings, columns, looked_up=ledger) if settings.combine else classified %}
    {{ return(collapsing._rows_of_events(rows, settings, columns, looked_up=ledger)) }}
{% endmacro %}


{#
    Returns the rows that a batch appends: an event that applies leaves a cancel row, an exact copy of the state row that it cancels,
    and its own row, a state row or for a delete a tombstone.

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
#}
{% macro _rows_as_they_are(classified, settings, columns) %}
select
    {{ collapsing._select_list(collapsing._kept_columns(columns, settings) | map(attribute='name'), indent=4) }},
    {{ collapsing._own_sign(settings) }} as ledger_sign,
    ledger_block,
    row_number() over (
        partition by {{ collapsing._column_list(settings.key) }}
        order by {{ collapsing._arrival_order(settings, columns) }}
    ) as ledger_place,
    ledger_batch
from {{ classified }}
{%- endmacro %}


{# Returns SQL for the sign of a row that is appended as it is. #}
{% macro _own_sign(settings) %}
    {{ return(
        'try_cast(' ~ collapsing._as_number(settings.sign) ~ ' as tinyint)' if settings.is_signed
        else 'cast(if(ledger_delete, 0, 1) as tinyint)'
    ) }}
{% endmacro %}
