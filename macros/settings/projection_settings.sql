{#
    Returns the checked settings of a projection, `node` in the graph or the model that is built: `group_by` as a mapping of name to SQL,
    `measures` as a list of what _measure returns.
#}
{% macro _projection_settings(node) %}
    {% set model_name, given = node.name, node.config.meta.get('collapsing') %}
    {% if given is not mapping or 'measures' not in given or 'group_by' not in given %}
        {{ collapsing._raise(model_name, "a projection needs 'group_by' and 'measures' in config(meta={'collapsing': {...}})") }}
    {% endif %}
    {% do collapsing._check_known(model_name, given, ['group_by', 'measures']) %}

    {% set group_by, measures = given.group_by, [] %}
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
    {% elif given.measures is not mapping or not given.measures %}
        {{ collapsing._raise_setting(
            model_name, 'measures', "a mapping of a name to an aggregate such as 'sum(x)'", given.measures
        ) }}
    {% endif %}
    {% for name, sql in group_by.items() if (collapsing._arguments_of(sql) or []) | length > 1 %}
        {{ collapsing._raise_setting(
            model_name, 'group_by.' ~ name, 'SQL for one value: give each group a name of its own', sql
        ) }}
    {% endfor %}
    {% for name, aggregate in given.measures.items() %}
        {% do measures.append(collapsing._measure(model_name, name, aggregate)) %}
    {% endfor %}

    {% do collapsing._check_names_of_columns(model_name, group_by.keys() | list + measures | map(attribute='name') | list) %}
    {% do collapsing._check_operands(model_name, measures) %}
    {{ return({'group_by': group_by, 'measures': measures}) }}
{% endmacro %}


{# Raises an error where groups or measures cannot be columns of one table by their names. #}
{% macro _check_names_of_columns(model_name, names) %}
    {% set seen = [] %}
    {% for name in names %}
        {% if name is not string or name == '' or '`' in name %}
            {{ collapsing._raise(
                model_name, 'the name of a group or a measure must be text without a backtick; given: ' ~ tojson(name)
                ~ (', as YAML reads names such as no, on or 2024 that have no quotes' if name is not string)
            ) }}
        {% elif name.lower().startswith('ledger_') %}
            {{ collapsing._raise(
                model_name, "the name '" ~ name ~ "' begins with ledger_: such names are reserved for the package"
            ) }}
        {% elif name.lower() in seen %}
            {{ collapsing._raise(
                model_name, "two groups or measures are named '" ~ name ~ "': Spark does not distinguish upper and lower case"
            ) }}
        {% endif %}
        {% do seen.append(name.lower()) %}
    {% endfor %}
{% endmacro %}
