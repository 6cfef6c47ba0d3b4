{# Gives SQL that is true for the rows of the blocks given. Tokens are compared as what they are, so that a filter on a
   partition column or on _metadata opens only the files of those blocks. #}
{% macro _is_block_in(settings, columns, tokens) %}
    {% if not tokens %}
        {{ return('false') }}
    {% endif %}
    {% set block = adapter.quote(settings.block) %}
    {% set dtype = (columns | selectattr('name', 'equalto', settings.block) | first).dtype %}
    {% set marks = {
        'tinyint': ['', 'Y'], 'smallint': ['', 'S'], 'int': ['', ''], 'bigint': ['', 'L'], 'date': ["date'", "'"]
    }.get(dtype) %}
    {% if marks %}
        {{ return(block ~ ' in (' ~ marks[0] ~ tokens | join(marks[1] ~ ', ' ~ marks[0]) ~ marks[1] ~ ')') }}
    {% endif %}
    {% set block = block if dtype == 'string' else 'cast(' ~ block ~ ' as string)' %}
    {{ return(block ~ ' in (' ~ collapsing._text_literals(tokens) ~ ')') }}
{% endmacro %}


{# Gives SQL that is true for the rows of folded blocks, a list as _notes_of gives it. #}
{% macro _is_block_folded(settings, columns, folded) %}
    {% set dtype = (columns | selectattr('name', 'equalto', settings.block) | first).dtype %}
    {% if dtype == 'string' and folded | length > 1000 %}
        {{ return(collapsing._is_packed_in(adapter.quote(settings.block), folded)) }}
    {% endif %}
    {{ return(collapsing._is_block_in(settings, columns, folded | map(attribute='block') | list)) }}
{% endmacro %}


{#
    Gives SQL that is true for tokens of a list as _notes_of gives it. Spark plans ten thousand literals for a third of a second,
    one literal for nothing: it holds the tokens in 1,024 places, each token in that of its hash.
#}
{% macro _is_packed_in(block, folded) %}
    {% set by_place = {} %}
    {% for group in folded | groupby('place') %}
        {% do by_place.update({group.grouper: group.list | map(attribute='packed') | join(',')}) %}
    {% endfor %}
    {% set places = [] %}
    {% for place in range(1024) %}
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


{# Gives SQL for the place of a token among those of _is_packed_in. #}
{% macro _place(block) %}
    {{ return('pmod(hash(' ~ block ~ '), 1024)') }}
{% endmacro %}
