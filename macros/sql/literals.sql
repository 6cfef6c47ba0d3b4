{# Returns text as a string literal of Spark: nothing in it ends the literal, and Spark finds no variable in it to replace. #}
{% macro _text_literal(text) %}
    {{ return("'" ~ text | replace('\\', '\\\\') | replace("'", "\\'") | replace('$', '\\u0024') ~ "'") }}
{% endmacro %}


{# Returns SQL that stops its query with an error. #}
{% macro _raise_in_sql(message) %}
    {{ return('raise_error(' ~ collapsing._text_literal('collapsing: ' ~ message) ~ ')') }}
{% endmacro %}


{#
    Returns SQL for text of data in a form that survives the way to the driver and back even if its bytes are not UTF-8: unchanged if it
    is plain ASCII, otherwise `$` and its bytes in hexadecimal digits. See _carried_literals.
#}
{% macro _carried_text(sql) %}
    {{ return('if(' ~ sql ~ ' rlike \'[^ !"#%&(-Z_-~]\', concat(\'$\', hex(' ~ sql ~ ')), ' ~ sql ~ ')') }}
{% endmacro %}


{# Returns string literals, with commas between, of values in the form of _carried_text. #}
{% macro _carried_literals(values) %}
    {% set literals = [] %}
    {% for value in values %}
        {% do literals.append("cast(X'" ~ value[1:] ~ "' as string)" if value[:1] == '$' else "'" ~ value ~ "'") %}
    {% endfor %}
    {{ return(literals | join(', ')) }}
{% endmacro %}


{# Returns SQL for a literal of a column's type from text of _bound_text; Spark folds it before it plans, so it prunes files. #}
{% macro _typed_literal(text, dtype) %}
    {% do return(collapsing._carried_literals([text])) if collapsing._is_text_type(dtype) %}
    {% do return('timestamp_micros(' ~ text ~ ')') if dtype == 'timestamp' %}
    {% do return('date_from_unix_date(' ~ text ~ ')') if dtype == 'date' %}
    {{ return('cast(' ~ collapsing._text_literal(text) ~ ' as ' ~ collapsing._ddl_type(dtype) ~ ')') }}
{% endmacro %}


{# Returns SQL for the text of an aggregate of a column, exact for its type; see _as_integer. #}
{% macro _bound_text(aggregate, dtype) %}
    {% do return(collapsing._carried_text(aggregate)) if collapsing._is_text_type(dtype) %}
    {% set value = collapsing._as_integer(aggregate, dtype) if collapsing._integer_bits(dtype) else aggregate %}
    {{ return('cast(' ~ value ~ ' as string)') }}
{% endmacro %}


{# Returns SQL for a value as a bigint: a timestamp as microseconds, free of time zones, and a date as days since 1970. #}
{% macro _as_integer(sql, dtype) %}
    {% set function = {'timestamp': 'unix_micros', 'date': 'unix_date'}.get(dtype, '') %}
    {{ return('cast(' ~ function ~ '(' ~ sql ~ ') as bigint)') }}
{% endmacro %}


{# Returns how many bits the whole numbers have that stand for values of a type, or none if it has no such. #}
{% macro _integer_bits(dtype) %}
    {{ return({'tinyint': 8, 'smallint': 16, 'int': 32, 'bigint': 64, 'date': 32, 'timestamp': 64}.get(dtype)) }}
{% endmacro %}


{# Returns whether a type is text, of a collation too. #}
{% macro _is_text_type(dtype) %}
    {{ return(dtype.startswith(('string', 'varchar', 'char'))) }}
{% endmacro %}


{# Returns whether a type is one of whole numbers. #}
{% macro _is_integer(dtype) %}
    {{ return(dtype in ['tinyint', 'smallint', 'int', 'bigint']) }}
{% endmacro %}


{# Returns how many digits a decimal type has after the point, none for another type. #}
{% macro _scale_of(dtype) %}
    {% set found = modules.re.search('^decimal\\(\\d+,\\s*(\\d+)', dtype) %}
    {{ return(found[1] | int if found else none) }}
{% endmacro %}


{# Returns whether a type is text with a collation, or has such text in it: there two texts may be equal and read differently. #}
{% macro _has_collation(dtype) %}
    {{ return(' collate ' in dtype | lower) }}
{% endmacro %}


{#
    Returns whether a type can be written as a literal that prunes files: floats and collated text do not order as their statistics do.
#}
{% macro _is_bounded_type(dtype) %}
    {{ return(
        collapsing._integer_bits(dtype) is not none or dtype == 'timestamp_ntz' or dtype.startswith('decimal')
        or collapsing._is_text_type(dtype) and not collapsing._has_collation(dtype)
    ) }}
{% endmacro %}


{#
    Returns the condition that a column lies between two values, given as _bound_text has them. Whole numbers, dates and timestamps are
    rounded outwards, to multiples of a power of two: Spark compiles these literals into the generated code, which batches of similar keys
    then share.
#}
{% macro _sql_is_between(column, least, greatest, dtype) %}
    {% set ends, bits = [least, greatest], collapsing._integer_bits(dtype) %}
    {% if bits %}
        {% set least, greatest = least | int, greatest | int %}
        {% set step = 2 ** ((greatest - least) // 8).bit_length() %}
        {% set ends = [
            [least // step * step, -(2 ** (bits - 1))] | max, [(greatest // step + 1) * step, 2 ** (bits - 1) - 1] | min
        ] %}
    {% endif %}
    {{ return(
        column ~ ' between ' ~ collapsing._typed_literal(ends[0] | string, dtype) ~ ' and ' ~ collapsing._typed_literal(ends[1] | string, dtype)
    ) }}
{% endmacro %}
