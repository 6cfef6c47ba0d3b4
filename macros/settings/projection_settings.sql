{#
    Gives the checked settings of a projection: `group_by` as a mapping of name to SQL, `measures` as a list of
    {name, function, argument}. `given` is the mapping under meta.collapsing of the model `model_name`.
#}
{% macro _projection_settings(model_name, given) %}
    {% if given is not mapping or 'measures' not in given or 'group_by' not in given %}
        {{ collapsing._refuse(
            model_name, "a projection needs 'group_by' and 'measures' in config(meta={'collapsing': {...}})"
        ) }}
    {% endif %}
    {% do collapsing._refuse_unknown(model_name, given, ['group_by', 'measures']) %}

    {% set group_by = given.group_by %}
    {% if group_by is not mapping %}
        {% set group_by = {} %}
        {% for column in collapsing._columns_of(model_name, given, 'group_by') %}
            {% do group_by.update({column: adapter.quote(column)}) %}
        {% endfor %}
    {% endif %}
    {% if group_by.values() | select('string') | list | length != group_by | length %}
        {{ collapsing._refuse_setting(
            model_name, 'group_by', 'a list of columns, or a mapping of a name to SQL', given.group_by
        ) }}
    {% endif %}

    {% set measures = [] %}
    {% if given.measures is not mapping or not given.measures %}
        {{ collapsing._refuse_setting(
            model_name, 'measures', "a mapping of a name to an aggregate such as 'sum(x)'", given.measures
        ) }}
    {% endif %}
    {% for name, aggregate in given.measures.items() %}
        {% do measures.append(collapsing._measure(model_name, name, aggregate)) %}
    {% endfor %}

    {% for name in group_by.keys() | list + measures | map(attribute='name') | list %}
        {% if name is not string or name.lower().startswith('ledger_') %}
            {{ collapsing._refuse(model_name, "the name '" ~ name ~ "' begins with ledger_: such names are the package's own") }}
        {% endif %}
    {% endfor %}
    {% for measure in measures if measure.name in group_by %}
        {{ collapsing._refuse(model_name, "'" ~ measure.name ~ "' names both a group and a measure") }}
    {% endfor %}
    {{ return({'group_by': group_by, 'measures': measures}) }}
{% endmacro %}


{# Gives {name, function, argument} of one measure: count(*), count(x), sum(x) or avg(x), x being any row-level SQL. #}
{% macro _measure(model_name, name, aggregate) %}
    {% set allowed = 'count(*), count(x), sum(x) or avg(x)' %}
    {% set parts = modules.re.match('(?is)^\\s*(count|sum|avg)\\s*\\((.*)\\)\\s*$', aggregate if aggregate is string else '') %}
    {% if not parts %}
        {{ collapsing._refuse_setting(model_name, 'measures.' ~ name, allowed, aggregate) }}
    {% endif %}
    {% set function, argument = parts.group(1).lower(), parts.group(2).strip() %}
    {% if argument == '' or (argument == '*' and function != 'count')
        or modules.re.match('(?is)^(distinct|all)\\b', argument)
        or not collapsing._is_one_argument(argument) %}
        {{ collapsing._refuse_setting(model_name, 'measures.' ~ name, allowed, aggregate) }}
    {% endif %}
    {{ return({'name': name, 'function': function, 'argument': argument}) }}
{% endmacro %}


{# Gives whether SQL text closes no parenthesis that it did not open: 'a) + sum(b' is two aggregates, not one. #}
{% macro _is_one_argument(sql) %}
    {% set state = namespace(depth=0, lowest=0) %}
    {% set bare = modules.re.sub("'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`", '', sql) %}
    {% for character in bare if character in '()' %}
        {% set state.depth = state.depth + (1 if character == '(' else -1) %}
        {% set state.lowest = [state.lowest, state.depth] | min %}
    {% endfor %}
    {{ return(state.depth == 0 and state.lowest == 0) }}
{% endmacro %}
