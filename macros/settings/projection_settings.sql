{#
    Returns the checked settings of a projection: `group_by` as a mapping of name to SQL, `measures` as a list of
    {name, function, argument, aggregate}. `given` is the mapping under meta.collapsing of the model `model_name`.
#}
{% macro _projection_settings(model_name, given) %}
    {% if given is not mapping or 'measures' not in given or 'group_by' not in given %}
        {{ collapsing._raise(
            model_name, "a projection needs 'group_by' and 'measures' in config(meta={'collapsing': {...}})"
        ) }}
    {% endif %}
    {% do collapsing._check_known(model_name, given, ['group_by', 'measures']) %}

    {% set group_by = given.group_by %}
    {% if group_by is not mapping %}
        {% set group_by = {} %}
        {% for column in collapsing._columns_of(model_name, given, 'group_by') %}
            {% do group_by.update({column: adapter.quote(column)}) %}
        {% endfor %}
    {% endif %}
    {% if group_by.values() | select('string') | list | length != group_by | length %}
        {{ collapsing._raise_setting(
            model_name, 'group_by', 'a list of columns, or a mapping of a name to SQL', given.group_by
        ) }}
    {% endif %}

    {% set measures = [] %}
    {% if given.measures is not mapping or not given.measures %}
        {{ collapsing._raise_setting(
            model_name, 'measures', "a mapping of a name to an aggregate such as 'sum(x)'", given.measures
        ) }}
    {% endif %}
    {% for name, aggregate in given.measures.items() %}
        {% do measures.append(collapsing._measure(model_name, name, aggregate)) %}
    {% endfor %}

    {% for name in group_by.keys() | list + measures | map(attribute='name') | list %}
        {% if name is not string or name.lower().startswith('ledger_') %}
            {{ collapsing._raise(
                model_name, "the name '" ~ name ~ "' begins with ledger_: such names are reserved for the package"
            ) }}
        {% endif %}
    {% endfor %}
    {% for measure in measures if measure.name in group_by %}
        {{ collapsing._raise(model_name, "'" ~ measure.name ~ "' names both a group and a measure") }}
    {% endfor %}
    {{ return({'group_by': group_by, 'measures': measures}) }}
{% endmacro %}


{#
    Returns {name, function, argument, aggregate} of one measure, x being any row-level SQL. The function of count(distinct x, y)
    is 'distinct', and its argument is one value of all: NULL where one of them is, for such a row does not count.
#}
{% macro _measure(model_name, name, aggregate) %}
    {% set allowed = 'count(*), count(x), sum(x), avg(x), min(x), max(x), count(distinct x) or count(distinct x, y, ...)' %}
    {% set parts = modules.re.match(
        '(?is)^\\s*(count|sum|avg|min|max)\\s*\\((.*)\\)\\s*$', aggregate if aggregate is string else ''
    ) %}
    {% if not parts %}
        {{ collapsing._raise_setting(model_name, 'measures.' ~ name, allowed, aggregate) }}
    {% endif %}
    {% set function = parts.group(1).lower() %}
    {% set distinct = modules.re.match('(?is)^\\s*distinct\\b(.*)$', parts.group(2)) if function == 'count' else none %}
    {% set arguments = collapsing._arguments_of(distinct.group(1) if distinct else parts.group(2)) %}
    {% if not arguments or '' in arguments
        or ('*' in arguments and (distinct or function != 'count'))
        or (arguments | length > 1 and not distinct)
        or modules.re.match('(?is)^(distinct|all)\\b', arguments[0]) %}
        {{ collapsing._raise_setting(model_name, 'measures.' ~ name, allowed, aggregate) }}
    {% endif %}
    {{ return({
        'name': name,
        'function': 'distinct' if distinct else function,
        'argument': collapsing._one_argument(arguments),
        'aggregate': aggregate.strip()
    }) }}
{% endmacro %}


{# Returns SQL for one value made of several: the value itself, or a struct that is NULL if one of them is. #}
{% macro _one_argument(arguments) %}
    {% if arguments | length == 1 %}
        {{ return(arguments[0]) }}
    {% endif %}
    {% set nulls, fields = [], [] %}
    {% for argument in arguments %}
        {% do nulls.append('(' ~ argument ~ ') is null') %}
        {% do fields.append("'value_" ~ loop.index ~ "', " ~ argument) %}
    {% endfor %}
    {{ return('if(' ~ nulls | join(' or ') ~ ', null, named_struct(' ~ fields | join(', ') ~ '))') }}
{% endmacro %}


{#
    Returns the arguments in the SQL between the parentheses of a call, or none if it closes a parenthesis that it did not
    open: 'a) + sum(b' are two aggregates, not one.
#}
{% macro _arguments_of(sql) %}
    {% set state = namespace(depth=0, lowest=0, argument='') %}
    {% set arguments = [] %}
    {% for token in modules.re.findall("(?s)'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|.", sql) %}
        {% set state.depth = state.depth + {'(': 1, ')': -1}.get(token, 0) %}
        {% set state.lowest = [state.lowest, state.depth] | min %}
        {% if token == ',' and state.depth == 0 %}
            {% do arguments.append(state.argument.strip()) %}
            {% set state.argument = '' %}
        {% else %}
            {% set state.argument = state.argument ~ token %}
        {% endif %}
    {% endfor %}
    {% do arguments.append(state.argument.strip()) %}
    {{ return(arguments if state.depth == 0 and state.lowest == 0 else none) }}
{% endmacro %}
