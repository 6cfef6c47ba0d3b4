{# Gives SQL that is true for the rows of the blocks given. Tokens are compared as what they are, so that a filter on a
   partition column or on _metadata opens only the files of those blocks. #}
{% macro _is_block_in(settings, columns, tokens) %}
    {% if not tokens %}
        {{ return('false') }}
    {% endif %}
    {% set block = adapter.quote(settings.block) %}
    {% set dtype = collapsing._token_type(settings, columns) %}
    {% set marks = {
        'tinyint': ['', 'Y'], 'smallint': ['', 'S'], 'int': ['', ''], 'bigint': ['', 'L'], 'date': ["date'", "'"]
    }.get(dtype) %}
    {% if marks %}
        {{ return(block ~ ' in (' ~ marks[0] ~ tokens | join(marks[1] ~ ', ' ~ marks[0]) ~ marks[1] ~ ')') }}
    {% endif %}
    {% set block = block if dtype == 'string' else 'cast(' ~ block ~ ' as string)' %}
    {{ return(block ~ ' in (' ~ collapsing._text_literals(tokens) ~ ')') }}
{% endmacro %}


{# Gives the type of the stage's token column. #}
{% macro _token_type(settings, columns) %}
    {{ return((columns | selectattr('name', 'equalto', settings.block) | first).dtype) }}
{% endmacro %}


{# Gives SQL that is true for the rows of folded blocks, a list as _notes_of gives it. #}
{% macro _is_block_folded(settings, columns, folded) %}
    {% if folded | length > 1000 and collapsing._token_type(settings, columns) == 'string' %}
        {{ return(collapsing._is_packed_in(adapter.quote(settings.block), folded)) }}
    {% endif %}
    {{ return(collapsing._is_block_in(settings, columns, folded | map(attribute='block') | list)) }}
{% endmacro %}


{#
    Gives SQL that is true for tokens of a list as _notes_of gives it. Spark plans ten thousand literals for a third of a second,
    one literal for nothing: it holds the tokens in _places places, each token in that of its hash.
#}
{% macro _is_packed_in(block, folded) %}
    {% set by_place = {} %}
    {% for group in folded | groupby('place') %}
        {% do by_place.update({group.grouper: group.list | map(attribute='packed') | join(',')}) %}
    {% endfor %}
    {% set places = [] %}
    {% for place in range(collapsing._places()) %}
        {% do places.append(by_place.get(place, '')) %}
    {% endfor %}
    {{ return(
        '(find_in_set(' ~ collapsing._packed(block) ~ ", element_at(split('" ~ places | join(';') ~ "', ';'), 1 + "
        ~ collapsing._place(block) ~ ')) > 0)'
    ) }}
{% endmacro %}


{# Gives SQL for a token without what separates tokens, or ends a literal. #}
{% macro _packed(block) %}
    {{ return('url_encode(' ~ block ~ ')') }}
{% endmacro %}


{# Gives how many places _is_packed_in has: tokens of one place are looked at one after the other. #}
{% macro _places() %}
    {{ return(1024) }}
{% endmacro %}


{# Gives SQL for the place of a token. #}
{% macro _place(block) %}
    {{ return('pmod(hash(' ~ block ~ '), ' ~ collapsing._places() ~ ')') }}
{% endmacro %}
