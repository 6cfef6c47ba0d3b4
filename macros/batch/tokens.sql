{# Returns SQL that is true for rows of these blocks: tokens compared in their own type, so that Spark opens only their files. #}
{% macro _sql_is_block_in(settings, columns, tokens) %}
    {% if not tokens %}{{ return('false') }}{% endif %}
    {% set block = adapter.quote(settings.block) %}
    {% set quotes = {
        'tinyint': ['', 'Y'], 'smallint': ['', 'S'], 'int': ['', ''], 'bigint': ['', 'L'], 'date': ["date'", "'"],
        'timestamp': ['timestamp_micros(', ')'], 'binary': ["X'", "'"]
    }.get(collapsing._token_type(settings, columns)) %}
    {% if quotes %}
        {{ return(block ~ ' in (' ~ quotes[0] ~ tokens | join(quotes[1] ~ ', ' ~ quotes[0]) ~ quotes[1] ~ ')') }}
    {% endif %}
    {{ return(collapsing._token(settings, columns) ~ ' in (' ~ collapsing._carried_literals(tokens) ~ ')') }}
{% endmacro %}


{# Returns SQL that is true for rows of no folded block, and for rows without a token: they are bad, and have to be seen. #}
{% macro _sql_is_unread(settings, columns, folded) %}
    {{ return(
        'not ' ~ collapsing._sql_is_block_in(settings, columns, folded) ~ ' or ' ~ adapter.quote(settings.block) ~ ' is null'
    ) }}
{% endmacro %}


{#
    Returns SQL for the text by which notes know a block, NULL without a token; `of` is the alias of the stage, if it has one.
    It is the same in every session: of a timestamp its microseconds since 1970, of binary its hexadecimal digits, of a decimal its digits
    without an exponent, which ANSI mode decides about, and without zeros at the end.
#}
{% macro _token(settings, columns, of=none) %}
    {% set block, dtype = collapsing._arrival(settings, of), collapsing._token_type(settings, columns) %}
    {% if dtype == 'timestamp' %}{{ return('cast(unix_micros(' ~ block ~ ') as string)') }}{% endif %}
    {% if dtype.startswith('decimal') %}{{ return('format_number(' ~ block ~ ", '0." ~ '#' * 38 ~ "')") }}{% endif %}
    {{ return('hex(' ~ block ~ ')' if dtype == 'binary' else block if dtype == 'string' else 'cast(' ~ block ~ ' as string)') }}
{% endmacro %}


{# Returns SQL for the token of a block as it is staged, by which the blocks of a batch are ordered; NULL without a token. #}
{% macro _arrival(settings, of=none) %}
    {{ return((of ~ '.' if of else '') ~ adapter.quote(settings.block) if settings.block else 'cast(null as string)') }}
{% endmacro %}


{# Returns how tokens are written as text, 'none' without a token: where that changes, every block would be another one. #}
{% macro _token_form(settings, columns) %}
    {% set dtype = collapsing._token_type(settings, columns) if settings.block else 'none' %}
    {% if dtype.startswith('decimal') or collapsing._is_integer(dtype) %}{{ return('number') }}{% endif %}
    {{ return(dtype if dtype in ['none', 'timestamp', 'timestamp_ntz', 'date', 'binary', 'float', 'double'] else 'text') }}
{% endmacro %}


{# Returns the type of the stage's token column, that of text without one. #}
{% macro _token_type(settings, columns) %}
    {{ return((columns | selectattr('name', 'equalto', settings.block) | first).dtype if settings.block else 'string') }}
{% endmacro %}
