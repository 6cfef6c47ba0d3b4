{# Returns SQL that is true for rows of these blocks; tokens are compared in their own type, so that it prunes files by them. #}
{% macro _is_block_in(settings, columns, tokens) %}
    {% do return('false') if not tokens %}
    {% set block = adapter.quote(settings.block) %}
    {% set dtype = collapsing._token_type(settings, columns) %}
    {% set marks = {
        'tinyint': ['', 'Y'], 'smallint': ['', 'S'], 'int': ['', ''], 'bigint': ['', 'L'], 'date': ["date'", "'"],
        'timestamp': ['timestamp_micros(', ')'], 'binary': ["X'", "'"]
    }.get(dtype) %}
    {% do return(block ~ ' in (' ~ marks[0] ~ tokens | join(marks[1] ~ ', ' ~ marks[0]) ~ marks[1] ~ ')') if marks %}
    {{ return(collapsing._token(settings, columns) ~ ' in (' ~ collapsing._carried_literals(tokens) ~ ')') }}
{% endmacro %}


{#
    Returns SQL for the text by which ledger and manifest know a block, NULL without a token; `of` is the alias of the stage, if it has one.
    It is the same in every session: of a timestamp its microseconds since 1970, of binary its hexadecimal digits, of a decimal its digits
    without an exponent, which ANSI mode decides about, and without zeros at the end.
#}
{% macro _token(settings, columns, of=none) %}
    {% set block = collapsing._arrival(settings, of) %}
    {% set dtype = collapsing._token_type(settings, columns) if settings.block else 'string' %}
    {% do return('cast(unix_micros(' ~ block ~ ') as string)') if dtype == 'timestamp' %}
    {% do return('format_number(' ~ block ~ ", '0." ~ '#' * 38 ~ "')") if dtype.startswith('decimal') %}
    {{ return('hex(' ~ block ~ ')' if dtype == 'binary' else block if dtype == 'string' else 'cast(' ~ block ~ ' as string)') }}
{% endmacro %}


{# Returns SQL for the token of a block as it is staged, by which the blocks of a batch are ordered; NULL without a token. #}
{% macro _arrival(settings, of=none) %}
    {{ return((of ~ '.' if of else '') ~ adapter.quote(settings.block) if settings.block else 'cast(null as string)') }}
{% endmacro %}


{# Returns how tokens are written as text, 'none' without a token: where that changes, every block would be another one. #}
{% macro _token_form(settings, columns) %}
    {% set dtype = collapsing._token_type(settings, columns) if settings.block else 'none' %}
    {{ return(dtype if dtype in ['none', 'timestamp', 'timestamp_ntz', 'date', 'binary', 'float', 'double'] else 'text') }}
{% endmacro %}


{# Returns the type of the stage's token column. #}
{% macro _token_type(settings, columns) %}
    {{ return((columns | selectattr('name', 'equalto', settings.block) | first).dtype) }}
{% endmacro %}


{# Returns SQL that is true for the rows of folded blocks, a list as _manifest_of returns it. #}
{% macro _is_block_folded(settings, columns, folded) %}
    {% if folded | length > 1000 and collapsing._token_type(settings, columns) == 'string' %}
        {{ return(collapsing._is_packed_in(adapter.quote(settings.block), folded)) }}
    {% endif %}
    {{ return(collapsing._is_block_in(settings, columns, folded | map(attribute='block') | list)) }}
{% endmacro %}


{# Returns SQL that is true for rows that no batch has folded; for a row without a token too: it is bad, and has to be seen. #}
{% macro _is_unread(settings, columns, folded) %}
    {% set is_folded = collapsing._is_block_folded(settings, columns, folded) %}
    {{ return('not ' ~ is_folded ~ ' or ' ~ adapter.quote(settings.block) ~ ' is null') }}
{% endmacro %}


{#
    Returns SQL that is true for tokens of a list as _manifest_of returns it. Planning 10,000 literals
    takes 0.3 s; one long literal does not, so tokens are hashed into 1,024 buckets of one delimited string.
#}
{% macro _is_packed_in(block, folded) %}
    {% set by_bucket = {} %}
    {% for group in folded | groupby('bucket') %}
        {% do by_bucket.update({group.grouper: group.list | map(attribute='packed') | join(',')}) %}
    {% endfor %}
    {% set buckets = [] %}
    {% for bucket in range(collapsing._buckets()) %}
        {% do buckets.append(by_bucket.get(bucket, '')) %}
    {% endfor %}
    {{ return(
        '(find_in_set(' ~ collapsing._packed(block) ~ ", element_at(split('" ~ buckets | join(';') ~ "', ';'), 1 + "
        ~ collapsing._bucket(block) ~ ')) > 0)'
    ) }}
{% endmacro %}


{# Returns SQL for a token without what separates tokens, or ends a literal; of the empty one it is not empty. #}
{% macro _packed(block) %}
    {{ return("concat('x', hex(" ~ block ~ '))') }}
{% endmacro %}


{# Returns how many buckets _is_packed_in has: tokens of one bucket are looked at one after the other. #}
{% macro _buckets() %}
    {{ return(1024) }}
{% endmacro %}


{# Returns SQL for the bucket of a token. #}
{% macro _bucket(block) %}
    {{ return('pmod(hash(' ~ block ~ '), ' ~ collapsing._buckets() ~ ')') }}
{% endmacro %}
