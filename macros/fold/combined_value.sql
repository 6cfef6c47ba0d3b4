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
    Returns SQL for what `combine` makes of old and new, in the type of its column. What does not fit is an error, whatever ANSI
    says: integers come to the SQL as wider ones, in which sums and products do not wrap around; and a decimal has overflowed where it is
    NULL and the same SQL over doubles is not. SQL that does not take such numbers, as `&` does not, takes them as they are.
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
    {{ return(
        'zip_with(array((' ~ sql ~ ')), array(' ~ wide ~ '), (value, wide) -> coalesce(try_cast(value as ' ~ type
        ~ '), if(value is null and wide is null, null, ' ~ misfit ~ ')))[0]'
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
