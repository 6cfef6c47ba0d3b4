{#
    Returns a subquery of one row per key, what the key is after its events were folded one after another with the SQL of the
    setting `combine`: its columns, the system columns of an event, `ledger_last_state` where the ledger was looked up, and
    `ledger_applied`. The first event of a key, or the first after a delete, has no old row and is taken as it is. An event that the
    engine's rule keeps out is skipped, as in the fold without combine.
#}
{% macro _combined(classified, settings, columns, looked_up) %}
{%- set engine, fields = collapsing._engine(settings), collapsing._event_fields(settings, columns) -%}
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
                        {%- set new = 'new.' ~ adapter.quote(field.name) %}
                        {%- set combined = collapsing._combined_value(settings, columns, field) %}
                        {{ collapsing._text_literal(field.name) }}, {{
                            'if(old.ledger_sign = 1 and not new.ledger_delete, ' ~ combined ~ ', ' ~ new ~ ')' if combined else new }},
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
                {{ collapsing._events_in_sequence(fields) }} as events
            from {{ classified }}
            {%- if engine.unread %}
            where not ledger_skipped
            {%- endif %}
            group by {{ collapsing._column_list(settings.key) }}
        )
    )
)
{%- endmacro %}


{#
    Returns SQL for the events of a key in the sequence of their fields; texts that a collation takes for equal are told apart by how they
    read.
#}
{% macro _events_in_sequence(fields) %}
    {% set selected = [collapsing._column_list(fields | map(attribute='name') | list)] %}
    {% for field in fields if collapsing._has_collation(field.dtype) %}
        {% do selected.append('cast(' ~ adapter.quote(field.name) ~ ' as string) as ledger_text_' ~ loop.index) %}
    {% endfor %}
    {{ return('sort_array(collect_list(struct(' ~ selected | join(', ') ~ ')))') }}
{% endmacro %}


{# Returns a struct of what a key is before its events: its last state, or NULLs. #}
{% macro _before_events(fields, looked_up) -%}
named_struct(
                    {%- for field in fields %}
                    {%- set stored = 'ledger_last_state.' ~ adapter.quote(field.name) %}
                    {{ collapsing._text_literal(field.name) }}, {{ stored if looked_up and not field.name.startswith('ledger_')
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
        {{ collapsing._raise(
            model.name, "setting 'combine' cannot order events by the column '" ~ column.name ~ "' of type " ~ column.dtype
        ) if not collapsing._is_comparable(column.dtype) }}
        {% do by_name.update({column.name: column}) %}
    {% endfor %}
    {% do by_name.update({'ledger_delete': {'name': 'ledger_delete', 'dtype': 'boolean'}}) %}
    {% for name in collapsing._engine(settings).sequence + settings.order_by if name in by_name %}
        {% do fields.append(by_name.pop(name)) %}
    {% endfor %}
    {{ return(fields + by_name.values() | list + [{'name': 'ledger_block', 'dtype': 'string'}]) }}
{% endmacro %}


{#
    Returns SQL for what `combine` makes of old and new, in the type of its column; none for another column. A result that does not
    fit is an error, with ANSI on and off. Integers are passed to the SQL as wider types, in which sums and products do not wrap
    around. Something has overflowed on the way if the SQL gives NULL over these and a value over doubles, unless the numbers are too small
    for that, or nullif has made NULL of a 0. SQL that does not take the wider types, as `&` does not, gets the columns as they are.
#}
{% macro _combined_value(settings, columns, field) %}
    {% do return(none) if field.name not in settings.combine %}
    {% set sql, type = settings.combine[field.name], collapsing._ddl_type(field.dtype) %}
    {% do return('cast((' ~ sql ~ ') as ' ~ type ~ ')') if field.dtype.startswith('string') %}
    {% set kept, is_integer = collapsing._kept_columns(columns, settings), collapsing._is_integer(field.dtype) %}
    {% set is_float, value, in_doubles = field.dtype in ['float', 'double'], none, none %}
    {% if is_integer or is_float or field.dtype.startswith('decimal') %}
        {#- as bigint, an integer would take digits from its product with a decimal -#}
        {% set value = collapsing._over_wider(settings, field.name, kept, 'integers' if is_integer else 'decimals') %}
        {% set in_doubles = collapsing._over_wider(settings, field.name, kept, 'doubles') %}
    {% endif %}
    {% do collapsing._check_keeps_digits(settings, field, kept, value or sql) if field.dtype.startswith('decimal') %}
    {% set wrong, fitted = [], 'try_cast(value as ' ~ type ~ ')' %}
    {% set exact = collapsing._sql_is_exact_in_doubles(settings, field.name, kept) if is_integer and in_doubles else none %}
    {% set fitted = 'if(' ~ exact ~ ', try_cast(wide as ' ~ type ~ '), ' ~ fitted ~ ')' if exact else fitted %}
    {% do wrong.append('value is not null and ' ~ fitted ~ ' is null') %}
    {% set unless_0 = ' and coalesce(try_cast(wide as ' ~ type ~ '), 1) <> 0' if 'nullif' in sql | lower else '' %}
    {% do wrong.append('value is null and wide is not null' ~ unless_0 ~ collapsing._sql_is_large(settings, field.name, kept))
        if in_doubles and not is_float %}
    {% do wrong.append('value is null and abs(wide) > 1e31D') if in_doubles and is_float %}
    {% do wrong.append('abs(wide) > 9.2234e18D') if in_doubles and is_integer %}
    {% do wrong.append(
        'abs(' ~ fitted ~ ") = cast('infinity' as float) and abs(try_cast(value as double)) < cast('infinity' as double)"
    ) if type == 'float' %}
    {{ return(
        'zip_with(array(' ~ (value or '(' ~ sql ~ ')') ~ '), array(' ~ ('try_cast(' ~ in_doubles ~ ' as double)' if in_doubles else 'null')
        ~ '), (value, wide) -> if((' ~ wrong | join(') or (') ~ '), ' ~ collapsing._raise_in_sql(
            "ledger '" ~ settings.model ~ "': what 'combine." ~ field.name ~ "' makes of two rows does not fit the type " ~ field.dtype
        ) ~ ', ' ~ fitted ~ '))[0]'
    ) }}
{% endmacro %}


{#
    Raises an error where the SQL that combines a decimal, `value` over old and new, has fewer digits after the point than its column: where a result
    could need more than 38 digits, Spark leaves out the last ones without an error. Asked once a run.
#}
{% macro _check_keeps_digits(settings, field, columns, value) %}
    {% do return(none) if not execute %}
    {% set known = settings.setdefault('types_of_combined', {}) %}
    {% if field.name not in known %}
        {% set rows = collapsing._two_rows('old', columns, 'new', columns) %}
        {% do known.update({field.name: collapsing._types_of_sql([value], rows)[0]}) %}
    {% endif %}
    {% set type, digits = known[field.name], collapsing._scale_of(field.dtype) %}
    {{ collapsing._raise_setting(
        settings.model, 'combine.' ~ field.name, 'SQL that keeps the ' ~ digits ~ ' digits after the point of ' ~ field.dtype
        ~ '. Spark gives it the type ' ~ type ~ ', because it could need more than 38 digits: cast its numbers to types with fewer digits',
        settings.combine[field.name]
    ) if type.startswith('decimal(38,') and collapsing._scale_of(type) < digits }}
{% endmacro %}


{#
    Returns the SQL that combines a column, over old and new with their numbers cast to wider types: integers to wider 'integers', or to the
    'decimals' that Spark takes them for beside a decimal, or all numbers to 'doubles'. None where it computes nothing, or Spark
    refuses it over these, or it would give something else over these than over the columns; asked once a run. Refused SQL is an error.
#}
{% macro _over_wider(settings, name, columns, into) %}
    {% do return(none) if not execute %}
    {% set condition, sql, wide = collapsing._check_combined(settings, name, columns), settings.combine[name], [] %}
    {% set types = {
        'integers': {'tinyint': 'bigint', 'smallint': 'bigint', 'int': 'bigint', 'bigint': 'decimal(20, 0)'},
        'decimals': {'tinyint': 'decimal(3, 0)', 'smallint': 'decimal(5, 0)', 'int': 'decimal(10, 0)', 'bigint': 'decimal(20, 0)'},
        'doubles': dict.fromkeys(['tinyint', 'smallint', 'int', 'bigint', 'decimal'], 'double')
    }[into] %}
    {% for column in columns %}
        {% do wide.append({'name': column.name, 'dtype': types.get(column.dtype.split('(')[0], column.dtype)}) %}
    {% endfor %}
    {% set known = settings.setdefault('takes_wider', {}) %}
    {% if (name, into) not in known %}
        {#- other types change what hashes or shifts a value, a division of integers, and the text of a number -#}
        {% set is_of_bits = modules.re.search('hash(64)?\\(|shift\\w*\\(| (<<|>>>?) ', condition) %}
        {% set differs = is_of_bits or into == 'decimals' and '/' in condition
            or into == 'doubles' and ' as string)' in condition %}
        {% set is_wider = wide | map(attribute='dtype') | list != columns | map(attribute='dtype') | list %}
        {% set computes = is_wider and modules.re.search('[-+*]', condition) and not differs %}
        {% do known.update({(name, into): computes and not collapsing._is_spark_error(collapsing._analysed_plan(
            settings.model, 'combine.' ~ name, sql, sql, collapsing._two_rows('old', wide, 'new', wide)
        ))}) %}
    {% endif %}
    {{ return(collapsing._over_cast(sql, columns, wide) if known[(name, into)] else none) }}
{% endmacro %}


{#
    Returns SQL over old, new and `wide` that tells where doubles give what Spark gives for the SQL of `combine`, because it divides integers:
    there a quotient is a double. Over decimals, which bigint is cast to, it has six digits. None where it divides none, or decimals.
#}
{% macro _sql_is_exact_in_doubles(settings, name, columns) %}
    {% set condition, exact = collapsing._check_combined(settings, name, columns), ['abs(wide) < 9007199254740992D'] %}
    {% do return(none) if '/' not in condition or 'decimal(' in condition %}
    {% for column in columns if collapsing._reads_column(condition, column.name) %}
        {% do return(none) if column.dtype.startswith('decimal') %}
        {% for row in ['old.', 'new.'] if column.dtype == 'bigint' %}
            {% set read = 'cast(' ~ row ~ adapter.quote(column.name) ~ ' as double)' %}
            {% do exact.append('coalesce(abs(' ~ read ~ ') < 9007199254740992D, true)') %}
        {% endfor %}
    {% endfor %}
    {{ return(exact | join(' and ')) }}
{% endmacro %}


{#
    Returns SQL, to follow others by `and`, that is true where a number of old or new is so large that decimals may overflow: from 10^32 on, or
    earlier the more digits after the point they have. Of SQL with a condition of its own, which may give NULL over decimals and a value
    over doubles, in which 0.1 + 0.2 is not 0.3. Nothing for other SQL, or where a cast, a long literal or a field of a column
    may overflow beside small numbers.
#}
{% macro _sql_is_large(settings, name, columns) %}
    {% set condition, sql = collapsing._check_combined(settings, name, columns), settings.combine[name] %}
    {% set sizes, scales = [], [] %}
    {% for column in columns if collapsing._reads_column(condition, column.name) %}
        {% do return('') if '<' in column.dtype or column.dtype == 'variant' %}
        {% do scales.append(collapsing._scale_of(column.dtype) or 0) %}
        {% for row in ['old.', 'new.'] if collapsing._is_integer(column.dtype) or column.dtype.startswith('decimal') %}
            {% do sizes.append('abs(cast(' ~ row ~ adapter.quote(column.name) ~ ' as double))') %}
        {% endfor %}
    {% endfor %}
    {% do return('') if not sizes or not modules.re.search('(?i)\\b(case|if|iff|nullif|decode)\\b', sql)
        or modules.re.search('(?i)(\\b|_)cast\\s*\\(|::|\\d{10}|\\de', sql) %}
    {% set factors = 1 + modules.re.findall('[*/]', sql) | length %}
    {% set digits = [[38 - factors * scales | max, 32] | min - 2, 0] | max %}
    {{ return(' and coalesce(greatest(' ~ sizes | join(', ') ~ ') >= 1e' ~ digits // factors ~ 'D, false)') }}
{% endmacro %}


{# Returns SQL over old and new with their columns cast to the types that these have in `wide`, in the same order. #}
{% macro _over_cast(sql, columns, wide) %}
    {% set rows = [] %}
    {% for row in ['old', 'new'] %}
        {% set fields = [] %}
        {% for column, other in zip(columns, wide) %}
            {% set value = row ~ '.' ~ adapter.quote(column.name) %}
            {% do fields.append(
                collapsing._text_literal(column.name) ~ ', '
                ~ ('cast(' ~ value ~ ' as ' ~ other.dtype ~ ')' if other.dtype != column.dtype else value)
            ) %}
        {% endfor %}
        {% do rows.append('array(named_struct(' ~ fields | join(', ') ~ '))') %}
    {% endfor %}
    {{ return('zip_with(' ~ rows | join(', ') ~ ', (old, new) -> (' ~ sql ~ '))[0]') }}
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
