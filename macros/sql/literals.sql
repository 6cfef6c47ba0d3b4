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
    {% do return('timestamp_micros(' ~ text | int ~ ')') if dtype == 'timestamp' %}
    {{ return('cast(' ~ collapsing._text_literal(text) ~ ' as ' ~ collapsing._ddl_type(dtype) ~ ')') }}
{% endmacro %}


{# Returns SQL for the text of an aggregate of a column, exact for its type: a timestamp as microseconds, free of time zones. #}
{% macro _bound_text(aggregate, dtype) %}
    {% do return(collapsing._carried_text(aggregate)) if collapsing._is_text_type(dtype) %}
    {{ return('cast(' ~ ('unix_micros(' ~ aggregate ~ ')' if dtype == 'timestamp' else aggregate) ~ ' as string)') }}
{% endmacro %}


{# Returns whether a type is text. #}
{% macro _is_text_type(dtype) %}
    {{ return(dtype == 'string' or dtype.startswith('varchar') or dtype.startswith('char')) }}
{% endmacro %}


{# Returns whether a type is one of whole numbers. #}
{% macro _is_integer(dtype) %}
    {{ return(dtype in ['tinyint', 'smallint', 'int', 'bigint']) }}
{% endmacro %}


{# Returns whether a type is text with a collation, or has such text in it: there two texts may be equal and read differently. #}
{% macro _has_collation(dtype) %}
    {{ return(' collate ' in dtype | lower) }}
{% endmacro %}


{# Returns whether a type can be written as a literal that prunes files: floats do not order as their statistics do. #}
{% macro _is_bounded_type(dtype) %}
    {{ return(
        collapsing._is_integer(dtype) or dtype in ['date', 'timestamp', 'timestamp_ntz'] or dtype.startswith('decimal')
        or collapsing._is_text_type(dtype)
    ) }}
{% endmacro %}


{#
    Returns the condition that a column lies between two values, given as _bound_text has them. Whole numbers and timestamps are rounded
    outwards, to multiples of a power of two: Spark compiles these literals into the generated code, which batches of similar keys then share.
#}
{% macro _sql_is_between(column, least, greatest, dtype) %}
    {% set ends = [least, greatest] %}
    {% set bits = {'tinyint': 8, 'smallint': 16, 'int': 32, 'bigint': 64, 'timestamp': 64}.get(dtype) %}
    {% if bits %}
        {% set least, greatest, steps = least | int, greatest | int, [1] %}
        {% for _ in range(bits) if 8 * steps[-1] < greatest - least %}
            {% do steps.append(2 * steps[-1]) %}
        {% endfor %}
        {% set ends = [
            [least // steps[-1] * steps[-1], -(2 ** (bits - 1))] | max,
            [(greatest // steps[-1] + 1) * steps[-1], 2 ** (bits - 1) - 1] | min
        ] %}
    {% endif %}
    {{ return(
        column ~ ' between ' ~ collapsing._typed_literal(ends[0] | string, dtype) ~ ' and ' ~ collapsing._typed_literal(ends[1] | string, dtype)
    ) }}
{% endmacro %}
