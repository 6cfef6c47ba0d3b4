{#
    Gives the CTEs that fold the events of each key one after another with the SQL of setting `combine`; the last,
    `combined`, holds the structs `arrived` (what the key is after the batch) and, with a ledger, `stored` (what it was).
    The first row of a key, or the first after a delete, has no old row and is taken as it is. An event that comes before the
    key's last one in the engine's order is passed over, as in the fold without combine.
#}
{% macro _combined_events(ledger, settings, columns) %}
{%- set kept = collapsing._kept_columns(columns, settings) -%}
{%- set fields = collapsing._event_fields(settings, columns) -%}
{%- set source = 'unread' -%}
{%- if settings.deletes == 'unversioned' %}
{%- set source = 'standing where not ledger_passed_over' -%}
{{ collapsing._standing_events(settings.key) }},

{% endif -%}
-- all events of a key in the order in which they follow each other
events as (
    select
        {{ collapsing._select_list(settings.key) }},
        sort_array(collect_list(struct({{ collapsing._row_list(fields | map(attribute='name') | list) }}))) as events
    from {{ source }}
    group by {{ collapsing._row_list(settings.key) }}
),

combined as (
    select
        {%- if ledger %}
        struct(stored.*) as stored,
        {%- endif %}
        aggregate(
            events.events,
            named_struct(
                {%- for field in fields %}
                '{{ field.name }}', {{ collapsing._stored_field(ledger, field) }},
                {%- endfor %}
                'ledger_live', {{ 'if(stored.ledger_sign is null, null, stored.ledger_sign = 1)' if ledger else 'cast(null as boolean)' }},
                'ledger_applied', false
            ),
            (old, new) -> if(
                {{ collapsing._follows(settings) }},
                named_struct(
                    {%- for field in fields %}
                    '{{ field.name }}', {{ collapsing._combined_field(settings, field) }},
                    {%- endfor %}
                    'ledger_live', not new.ledger_delete,
                    'ledger_applied', true
                ),
                old
            )
        ) as arrived
    from events
    {%- if ledger %}
    left join stored on {{ collapsing._same_key(settings.key, 'events', 'stored') }}
    {%- endif %}
)
{%- endmacro %}


{# Gives the fields of one event as {name, dtype}, those that order it first: the struct is sorted by them. #}
{% macro _event_fields(settings, columns) %}
    {% set arrival = columns | selectattr('name', 'equalto', settings.block) | first if settings.block else {'dtype': 'string'} %}
    {% set deleted = {'name': 'ledger_delete', 'dtype': 'boolean'} %}
    {% set arrived = {'name': 'ledger_arrival', 'dtype': arrival.dtype} %}
    {% set by_name = {} %}
    {% for column in collapsing._kept_columns(columns, settings) %}
        {% if 'map<' in column.dtype %}
            {{ collapsing._refuse(model.name, "setting 'combine' cannot order events by the map column '" ~ column.name ~ "'") }}
        {% endif %}
        {% do by_name.update({column.name: column}) %}
    {% endfor %}
    {% set fields = [arrived, deleted] if settings.deletes == 'unversioned' else [] %}
    {% for name in settings.version %}
        {% do fields.append(by_name.pop(name)) %}
    {% endfor %}
    {% if settings.engine != 'versioned_collapsing' %}
        {% do fields.append(arrived) %}
    {% elif settings.deletes == 'versioned' %}
        {% do fields.extend([deleted, arrived]) %}
    {% endif %}
    {% for name in settings.order_by if name in by_name %}
        {% do fields.append(by_name.pop(name)) %}
    {% endfor %}
    {% do fields.extend(by_name.values()) %}
    {% do fields.append(deleted) if deleted not in fields %}
    {{ return(fields + [{'name': 'ledger_block', 'dtype': 'string'}]) }}
{% endmacro %}


{# Gives SQL for a field of the row that a key starts from: the stored one, or a NULL of its type. #}
{% macro _stored_field(ledger, field) %}
    {% if ledger and not field.name.startswith('ledger_') %}
        {{ return('stored.' ~ adapter.quote(field.name)) }}
    {% endif %}
    {{ return('cast(null as ' ~ field.dtype ~ ')') }}
{% endmacro %}


{# Gives SQL for a field after an event: what `combine` makes of old and new, or the new value. #}
{% macro _combined_field(settings, field) %}
    {% set value = 'new.' ~ adapter.quote(field.name) %}
    {% if field.name in settings.combine %}
        {{ return(
            'cast(if(old.ledger_live and not new.ledger_delete, ' ~ settings.combine[field.name] ~ ', ' ~ value ~ ') as ' ~ field.dtype ~ ')'
        ) }}
    {% endif %}
    {{ return(value) }}
{% endmacro %}


{# Gives the keep rule between two events of a key: SQL that is true when `new` follows `old`. #}
{% macro _follows(settings) %}
    {% if not settings.version %}
        {{ return('true') }}
    {% elif settings.engine == 'replacing' %}
        {{ return(
            'old.ledger_live is null or '
            ~ collapsing._one_value(settings.version, 'new') ~ ' >= ' ~ collapsing._one_value(settings.version, 'old')
        ) }}
    {% endif %}
    {% if settings.deletes == 'unversioned' %}
        {{ return(
            'new.ledger_delete or not coalesce(old.ledger_live, false) or '
            ~ collapsing._one_value(settings.version, 'new') ~ ' > ' ~ collapsing._one_value(settings.version, 'old')
        ) }}
    {% endif %}
    {{ return(
        'old.ledger_live is null or struct(' ~ collapsing._row_list(settings.version, 'new') ~ ', new.ledger_delete) > struct('
        ~ collapsing._row_list(settings.version, 'old') ~ ', not old.ledger_live)'
    ) }}
{% endmacro %}
