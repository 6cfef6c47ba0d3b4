{#
    Returns a subquery of one row per key, what the key is after its events were folded one after another with the SQL of the
    setting `combine`: its columns, the system columns of an event, `ledger_last_state` and `ledger_applied`. The first event of a key, or the first after a delete, has no old row and is taken as it is. An event that the
    engine's rule keeps out is skipped, as in the fold without combine. Spark computes the SQL as it does in the session, and its
    result is cast to the column's type.
#}
{% macro _combined(classified, settings, columns) %}
{%- set engine, fields = collapsing._engine(settings), collapsing._event_fields(settings, columns) -%}
(
    select
        incoming.*,
        ledger_last_state
    from (
        select
            ledger_last_state,
            aggregate(
                events,
                {{ collapsing._before_events(fields) }},
                (old, new) -> if(
                    {{ engine.in_sequence }},
                    named_struct(
                        {%- for field in fields %}
                        {%- set new, sql = 'new.' ~ adapter.quote(field.name), settings.combine[field.name] %}
                        {{ collapsing._text_literal(field.name) }},
                        {%- if field.name in settings.combine %}
                        if(old.ledger_sign = 1 and not new.ledger_delete, cast(({{ sql }}) as {{ collapsing._ddl_type(field.dtype) }}), {{ new }}),
                        {%- else %}
                        {{ new }},
                        {%- endif %}
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
                any_value(ledger_last_state) as ledger_last_state,
                sort_array(collect_list(struct({{ collapsing._column_list(fields | map(attribute='name') | list) }}))) as events
            from {{ classified }}
            {%- if engine.marks_skipped %}
            where not ledger_skipped
            {%- endif %}
            group by {{ collapsing._column_list(settings.key) }}
        )
    )
)
{%- endmacro %}


{# Returns a struct of what a key is before its events: its last state. #}
{% macro _before_events(fields) -%}
named_struct(
                    {%- for field in fields %}
                    {%- set stored = 'ledger_last_state.' ~ adapter.quote(field.name) %}
                    {{ collapsing._text_literal(field.name) }}, {{ stored if not field.name.startswith('ledger_')
                        else 'cast(null as ' ~ collapsing._ddl_type(field.dtype) ~ ')' }},
                    {%- endfor %}
                    'ledger_sign', cast(ledger_last_state.ledger_sign as int),
                    'ledger_applied', false
                )
{%- endmacro %}


{# Returns the fields of one event as {name, dtype}, in the engine's sequence: the struct is sorted by them. #}
{% macro _event_fields(settings, columns) %}
    {% set first = collapsing._engine(settings).sequence + settings.order_by %}
    {% set arrival = {'name': 'ledger_arrival', 'dtype': collapsing._token_type(settings, columns)} %}
    {% set known = [arrival] + collapsing._kept_columns(columns, settings) + [{'name': 'ledger_delete', 'dtype': 'boolean'}] %}
    {% set ordered = [] %}
    {% for name in first | unique(case_sensitive=true) %}
        {% do ordered.extend(known | selectattr('name', 'equalto', name)) %}
    {% endfor %}
    {{ return(ordered + known | rejectattr('name', 'in', first) | list + [{'name': 'ledger_block', 'dtype': 'string'}]) }}
{% endmacro %}
