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


{# Returns SQL for a literal of a bounded type from text of _bound_text; Spark folds it before it plans, so it prunes files. #}
{% macro _typed_literal(number, dtype) %}
    {% if dtype == 'timestamp' %}{{ return('timestamp_micros(' ~ number ~ ')') }}{% endif %}
    {% if dtype == 'date' %}{{ return('date_from_unix_date(' ~ number ~ ')') }}{% endif %}
    {{ return("cast('" ~ number ~ "' as " ~ dtype ~ ')') }}
{% endmacro %}


{# Returns SQL for the text of an aggregate's number: of a timestamp the microseconds, which no time zone changes. #}
{% macro _bound_text(aggregate, dtype) %}
    {% set function = {'timestamp': 'unix_micros', 'date': 'unix_date'}.get(dtype) or '' %}
    {{ return('cast(' ~ function ~ '(' ~ aggregate ~ ') as string)') }}
{% endmacro %}


{# Returns how many bits the whole numbers of a type have; none for a type other than integers, dates and timestamps. #}
{% macro _integer_bits(dtype) %}
    {{ return({'tinyint': 8, 'smallint': 16, 'int': 32, 'bigint': 64, 'date': 32, 'timestamp': 64}.get(dtype)) }}
{% endmacro %}


{# Returns whether a type is one of whole numbers. #}
{% macro _is_integer(dtype) %}
    {{ return(dtype in ['tinyint', 'smallint', 'int', 'bigint']) }}
{% endmacro %}


{#
    Returns the condition that a column lies within `found`, {least, greatest, dtype}, its ends as _bound_text has them. Whole numbers, dates and
    timestamps are rounded outwards, to multiples of a power of two: Spark compiles these literals into the generated code, which
    batches of similar keys then share.
#}
{% macro _sql_is_between(column, found) %}
    {% set ends, bits = [found.least, found.greatest], collapsing._integer_bits(found.dtype) %}
    {% if bits %}
        {% set least, greatest, limit = found.least | int, found.greatest | int, 2 ** (bits - 1) %}
        {#- the power of two above an eighth of the range -#}
        {% set steps = [1] %}
        {% for bit in range(64) if 2 ** bit * 8 <= greatest - least %}{% do steps.append(2 ** (bit + 1)) %}{% endfor %}
        {% set step = steps | last %}
        {% set ends = [[least // step * step, -limit] | max, [(greatest // step + 1) * step, limit - 1] | min] %}
    {% endif %}
    {{ return(
        column ~ ' between ' ~ collapsing._typed_literal(ends[0], found.dtype) ~ ' and ' ~ collapsing._typed_literal(ends[1], found.dtype)
    ) }}
{% endmacro %}
