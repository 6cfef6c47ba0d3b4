{#
    Returns a subquery of one row per key, what the key is after its events were folded one after another with the SQL of the
    setting `combine`: its columns, the system columns of an event, `ledger_last_state` where the ledger was looked up, and
    `ledger_applied`. The first event of a key, or the first after a delete, has no old row and is taken as it is. An event that the
    engine's rule keeps out is skipped, as in the fold without combine.
#}
{% macro _combined(classified, settings, columns, looked_up) %}
{%- set engine = collapsing._engine(settings) -%}
{%- set fields = collapsing._event_fields(settings, columns) -%}
(
    select
        incoming.*,
        ledger_batch
        {%- if looked_up %},
        ledger_last_state
        {%- endif %}
    from (
        select
            ledger_batch,
            {%- if looked_up %}
            ledger_last_state,
            {%- endif %}
            aggregate(
                events,
                {{ collapsing._before_events(fields, looked_up) }},
                (old, new) -> if(
                    {{ engine.in_sequence }},
                    named_struct(
                        {%- for field in fields %}
                        {{ collapsing._text_literal(field.name) }}, {{ collapsing._combined_field(settings, columns, field) }},
                        {%- endfor %}
                        'ledger_sign', if(new.ledger_delete, 0, 1),
                        'ledger_applied', true
                    ),
                    old
                )
            ) as incoming
        from (
            -- all events of a key in the order in which they follow each other
            select
                any_value(ledger_batch) as ledger_batch,
                {%- if looked_up %}
                any_value(ledger_last_state) as ledger_last_state,
                {%- endif %}
                sort_array(collect_list(struct({{ collapsing._row_list(fields | map(attribute='name') | list) }}))) as events
            from {{ classified }}
            {%- if engine.unread %}
            where not ledger_skipped
            {%- endif %}
            group by {{ collapsing._row_list(settings.key) }}
        )
    )
)
{%- endmacro %}


{# Returns a struct of what a key is before its events: its last state, or NULLs. #}
{% macro _before_events(fields, looked_up) -%}
named_struct(
                    {%- for field in fields %}
                    {%- set stored = 'ledger_last_state.' ~ adapter.quote(field.name) %}
                    {%- set is_stored = looked_up and not field.name.startswith('ledger_') %}
                    {{ collapsing._text_literal(field.name) }}, {{ stored if is_stored
                        else 'cast(null as ' ~ collapsing._ddl_type(field.dtype) ~ ')' }},
                    {%- endfor %}
                    'ledger_sign', {{ 'cast(ledger_last_state.ledger_sign as int)' if looked_up else 'cast(null as int)' }},
                    'ledger_applied', false
                )
{%- endmacro %}


{# Returns the fields of one event as {name, dtype}, in the engine's sequence: the struct is sorted by them. #}
{% macro _event_fields(settings, columns) %}
    {% set arrival = columns | selectattr('name', 'equalto', settings.block) | first if settings.block else {'dtype': 'string'} %}
    {% set by_name, fields = {'ledger_arrival': {'name': 'ledger_arrival', 'dtype': arrival.dtype}}, [] %}
    {% for column in collapsing._kept_columns(columns, settings) %}
        {% if not collapsing._comparable_columns([column]) %}
            {{ collapsing._raise(
                model.name, "setting 'combine' cannot order events by the column '" ~ column.name ~ "' of type " ~ column.dtype
            ) }}
        {% endif %}
        {% do by_name.update({column.name: column}) %}
    {% endfor %}
    {% do by_name.update({'ledger_delete': {'name': 'ledger_delete', 'dtype': 'boolean'}}) %}
    {% for name in collapsing._engine(settings).sequence + settings.order_by if name in by_name %}
        {% do fields.append(by_name.pop(name)) %}
    {% endfor %}
    {{ return(fields + by_name.values() | list + [{'name': 'ledger_block', 'dtype': 'string'}]) }}
{% endmacro %}
