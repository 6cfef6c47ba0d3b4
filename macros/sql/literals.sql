{# Returns a value that came from data as a Spark string literal: nothing in it can end the literal. #}
{% macro _text_literal(value) %}
    {{ return(collapsing._text_literals([value])) }}
{% endmacro %}


{# Returns values as string literals with commas between: at once, for there may be ten thousand. #}
{% macro _text_literals(values) %}
    {{ return("'" ~ values | map('string') | map('replace', '\\', '\\\\') | map('replace', "'", "\\'") | join("', '") ~ "'") }}
{% endmacro %}


{#
    Returns SQL that turns the text of a value (see _bound_text) back into a literal of its column's type. Spark folds it
    to a constant before it plans, so files and row groups are pruned by it.
#}
{% macro _typed_literal(text, dtype) %}
    {% if dtype in ['string', 'varchar', 'char'] or dtype.startswith('varchar') or dtype.startswith('char') %}
        {{ return(collapsing._text_literal(text)) }}
    {% elif dtype == 'timestamp' %}
        {{ return('timestamp_micros(' ~ text | int ~ ')') }}
    {% else %}
        {{ return('cast(' ~ collapsing._text_literal(text) ~ ' as ' ~ dtype ~ ')') }}
    {% endif %}
{% endmacro %}


{# Returns SQL for the text of an aggregate of a column, exact for its type: a timestamp as microseconds, free of time zones. #}
{% macro _bound_text(aggregate, dtype) %}
    {{ return(('unix_micros(' ~ aggregate ~ ')') if dtype == 'timestamp' else aggregate) | string }}
{% endmacro %}


{# Returns whether a type can be written as a literal that prunes files: floats do not order as their statistics do. #}
{% macro _is_bounded_type(dtype) %}
    {{ return(
        dtype in ['tinyint', 'smallint', 'int', 'bigint', 'date', 'timestamp', 'timestamp_ntz', 'string']
        or dtype.startswith('decimal') or dtype.startswith('varchar') or dtype.startswith('char')
    ) }}
{% endmacro %}
