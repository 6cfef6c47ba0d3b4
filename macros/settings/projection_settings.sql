{#
    Returns the checked settings of a projection, `node` in the graph or the model that is built: `group_by` as a mapping of name to SQL,
    `measures` as a list of what _measure returns.
#}
{% macro _projection_settings(node) %}
    {% set model_name, given = node.name, node.config.meta.get('collapsing') %}
    {% if given is not mapping or 'measures' not in given or 'group_by' not in given %}
        {% do collapsing._raise(
            model_name, "a projection needs 'group_by' and 'measures' in config(meta={'collapsing': {...}}); given: "
            ~ (given | join(', ') if given is mapping and given else 'nothing')
        ) %}
    {% endif %}
    {% do collapsing._check_known(model_name, given, ['group_by', 'measures']) %}

    {% set group_by, measures = {}, [] %}
    {% if given.group_by is mapping %}
        {% set group_by = given.group_by %}
    {% else %}
        {% for column in collapsing._columns_setting(model_name, given, 'group_by') %}
            {% do group_by.update({column: adapter.quote(column)}) %}
        {% endfor %}
    {% endif %}
    {% if group_by.values() | select('string') | list | length != group_by | length %}
        {% do collapsing._raise_setting(
            model_name, 'group_by', 'a list of columns, or a mapping of a name to SQL', given.group_by
        ) %}
    {% endif %}
    {% if given.measures is not mapping or not given.measures %}
        {% do collapsing._raise_setting(
            model_name, 'measures', "a mapping of a name to an aggregate such as 'sum(x)'", given.measures
        ) %}
    {% endif %}
    {% for name, sql in group_by.items() %}
        {% do collapsing._check_row_sql(model_name, 'group_by.' ~ name, sql) %}
    {% endfor %}
    {% for name, aggregate in given.measures.items() %}
        {% do measures.append(collapsing._measure(model_name, name, aggregate)) %}
    {% endfor %}
    {% do collapsing._check_names_of_columns(model_name, group_by | list + given.measures | list) %}
    {{ return({'group_by': group_by, 'measures': measures}) }}
{% endmacro %}


{# Raises an error where groups or measures cannot be columns of one table by their names. #}
{% macro _check_names_of_columns(model_name, names) %}
    {% set seen = [] %}
    {% for name in names %}
        {% if name is not string or name == '' or '`' in name or name.lower().startswith('ledger_') or name.lower() in seen %}
            {% do collapsing._raise(
                model_name, 'the name of a group or a measure must be text without a backtick that does not begin with ledger_, and differ from the others'
                ~ ' in more than upper and lower case; given: ' ~ collapsing._shown(name)
                ~ (', as YAML reads names such as no, on or 2024 that have no quotes' if name is not string else '')
            ) %}
        {% endif %}
        {% do seen.append(name.lower()) %}
    {% endfor %}
{% endmacro %}


{#
    Returns {name, function, argument, aggregate} of one measure. `argument` is the SQL of the value that a row brings to the function, NULL
    where the row does not count: where a filter is not true, or the condition of count_if. The function of count_if(c) is 'count', that
    of count(distinct x) is 'distinct'.
#}
{% macro _measure(model_name, name, aggregate) %}
    {% set call = modules.re.match(
        '(?is)\\s*(count_if|count|sum|avg|min|max)\\s*\\((\\s*distinct\\b)?(.*?)\\)\\s*(?:filter\\s*\\(\\s*where\\b\\s*(.*)\\)\\s*)?$', aggregate
    ) if aggregate is string else none %}
    {% set function, distinct, value, condition =
        (call.group(1) | lower, call.group(2), call.group(3).strip(), call.group(4)) if call else (none, none, '', none) %}
    {% if not collapsing._is_one_value(value) or (condition is not none and not collapsing._is_one_value(condition))
        or (function != 'count' and (distinct or value == '*')) or (distinct and value == '*') %}
        {% do collapsing._raise_setting(
            model_name, 'measures.' ~ name, 'count(*), count(x), count_if(c), count(distinct x), sum(x), avg(x), min(x) or max(x), each also with'
            ~ ' filter (where c)', aggregate
        ) %}
    {% endif %}
    {% for sql in [value, condition] if sql not in ['*', none] %}
        {% do collapsing._check_row_sql(model_name, 'measures.' ~ name, sql) %}
    {% endfor %}
    {% set argument = 'case when ' ~ value ~ ' then true end' if function == 'count_if' else value %}
    {% if condition is not none %}
        {% set argument = 'case when ' ~ condition ~ ' then ' ~ ('true' if argument == '*' else argument) ~ ' end' %}
    {% endif %}
    {{ return({
        'name': name, 'function': 'distinct' if distinct else 'count' if function == 'count_if' else function, 'argument': argument,
        'aggregate': aggregate.strip()
    }) }}
{% endmacro %}
