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
    {% set arrival = {'name': 'ledger_arrival', 'dtype': collapsing._arrival_type(settings, columns)} %}
    {% set by_name, fields = {'ledger_arrival': arrival}, [] %}
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


{# Returns SQL for a field after an event: what `combine` makes of old and new, or the new value. #}
{% macro _combined_field(settings, columns, field) %}
    {% set value = 'new.' ~ adapter.quote(field.name) %}
    {% if field.name in settings.combine %}
        {{ return(
            'if(old.ledger_sign = 1 and not new.ledger_delete, ' ~ collapsing._combined_value(settings, columns, field) ~ ', ' ~ value ~ ')'
        ) }}
    {% endif %}
    {{ return(value) }}
{% endmacro %}


{#
    Returns SQL for what `combine` makes of old and new, in the type of its column. A result that does not fit is an error, with ANSI on and off. Integers
    are passed to the SQL as wider types, in which sums and products do not wrap around. A decimal has overflowed if the SQL gives NULL over
    decimals and a value over doubles, unless nullif has made NULL of a 0. SQL that does not take the wider types, as `&` does not, gets the
    columns as they are.
#}
{% macro _combined_value(settings, columns, field) %}
    {% set sql, type = settings.combine[field.name], field.dtype %}
    {% set is_integer, kept = collapsing._is_integer(type), collapsing._kept_columns(columns, settings) %}
    {% set misfit = 'raise_error(' ~ collapsing._text_literal(
        "collapsing: ledger '" ~ settings.model ~ "': what 'combine." ~ field.name ~ "' makes of two rows does not fit the type " ~ type
    ) ~ ')' %}
    {% set as_its_type = 'try_cast(value as ' ~ collapsing._ddl_type(type) ~ ')' %}
    {% set fitted = 'coalesce(' ~ as_its_type ~ ', if(value is null, null, ' ~ misfit ~ '))' %}
    {% if type.startswith('string') %}
        {{ return('cast((' ~ sql ~ ') as ' ~ collapsing._ddl_type(type) ~ ')') }}
    {% elif type == 'float' %}
        {% set is_too_great = 'abs(' ~ as_its_type ~ ") = cast('infinity' as float) and abs(try_cast(value as double)) < cast('infinity' as double)" %}
        {{ return('transform(array((' ~ sql ~ ')), value -> if(' ~ is_too_great ~ ', ' ~ misfit ~ ', ' ~ fitted ~ '))[0]') }}
    {% elif not is_integer and not type.startswith('decimal') %}
        {{ return('transform(array((' ~ sql ~ ')), value -> ' ~ fitted ~ ')[0]') }}
    {% endif %}
    {% set wider = {} %}
    {% for column in kept if collapsing._is_integer(column.dtype) or (not is_integer and column.dtype.startswith('decimal')) %}
        {% set type_of_integer = 'decimal(20, 0)' if column.dtype == 'bigint' else 'bigint' %}
        {% do wider.update({column.name: type_of_integer if is_integer else 'double'}) %}
    {% endfor %}
    {% set takes_wider = wider and collapsing._takes_wider(settings, field.name, kept, wider) %}
    {% set wide = collapsing._over_wider(sql, kept, wider) if takes_wider else none %}
    {% if is_integer or not wide %}
        {{ return('transform(array(' ~ (wide or '(' ~ sql ~ ')') ~ '), value -> ' ~ fitted ~ ')[0]') }}
    {% endif %}
    {% set is_nulled = ' or try_cast(wide as ' ~ type ~ ') = 0' if 'nullif' in sql | lower else '' %}
    {{ return(
        'zip_with(array((' ~ sql ~ ')), array(' ~ wide ~ '), (value, wide) -> coalesce(try_cast(value as ' ~ type
        ~ '), if(value is null and (wide is null' ~ is_nulled ~ '), null, ' ~ misfit ~ ')))[0]'
    ) }}
{% endmacro %}


{# Returns SQL over old and new with some of their columns cast to wider types, {name: type}. #}
{% macro _over_wider(sql, columns, wider) %}
    {% set rows = [] %}
    {% for row in ['old', 'new'] %}
        {% set fields = [] %}
        {% for column in columns %}
            {% set value = row ~ '.' ~ adapter.quote(column.name) %}
            {% do fields.append(
                collapsing._text_literal(column.name) ~ ', '
                ~ ('cast(' ~ value ~ ' as ' ~ wider[column.name] ~ ')' if column.name in wider else value)
            ) %}
        {% endfor %}
        {% do rows.append('array(named_struct(' ~ fields | join(', ') ~ '))') %}
    {% endfor %}
    {{ return('zip_with(' ~ rows | join(', ') ~ ', (old, new) -> (' ~ sql ~ '))[0]') }}
{% endmacro %}


{# Returns whether SQL of `combine` computes, and Spark takes it over wider types: asked once a run. Refused SQL is an error. #}
{% macro _takes_wider(settings, name, columns, wider) %}
    {% set known = settings.setdefault('takes_wider', {}) %}
    {% if name not in known and execute %}
        {% set wide = [] %}
        {% for column in columns %}
            {% do wide.append({'name': column.name, 'dtype': wider.get(column.name, column.dtype)}) %}
        {% endfor %}
        {#- what only picks or hashes a value is the same for its type alone -#}
        {% set computes = modules.re.search('[-+*]', collapsing._check_combined(settings, name, columns)) %}
        {% set sql = settings.combine[name] %}
        {% do known.update({name: computes and not collapsing._is_refused(collapsing._analysed_plan(
            settings.model, 'combine.' ~ name, sql, sql, collapsing._two_rows('old', wide, 'new', wide)
        ))}) %}
    {% endif %}
    {{ return(known.get(name)) }}
{% endmacro %}


{# Raises an error where Spark refuses the SQL that combines a column; returns the analysed condition that it is NULL. #}
{% macro _check_combined(settings, name, columns) %}
    {% set known, sql = settings.setdefault('analysed', {}), settings.combine[name] %}
    {% if name not in known %}
        {% do known.update({name: collapsing._check_row_sql(
            settings.model, 'combine.' ~ name, sql, sql, collapsing._two_rows('old', columns, 'new', columns)
        )}) %}
    {% endif %}
    {{ return(known[name]) }}
{% endmacro %}
