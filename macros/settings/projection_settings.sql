{#
    Returns the checked settings of a projection: `group_by` as a mapping of name to SQL, `measures` as a list of
    _measure returns them. `given` is the mapping under meta.collapsing of the model `model_name`.
#}
{% macro _projection_settings(model_name, given) %}
    {% if given is not mapping or 'measures' not in given or 'group_by' not in given %}
        {{ collapsing._raise(model_name, "a projection needs 'group_by' and 'measures' in config(meta={'collapsing': {...}})") }}
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

    {% if given.measures is not mapping or not given.measures %}
        {{ collapsing._raise_setting(
            model_name, 'measures', "a mapping of a name to an aggregate such as 'sum(x)'", given.measures
        ) }}
    {% endif %}
    {% for name, sql in group_by.items() if (collapsing._arguments_of(sql) or []) | length > 1 %}
        {{ collapsing._raise_setting(
            model_name, 'group_by.' ~ name, 'SQL for one value: give each group a name of its own', sql
        ) }}
    {% endfor %}
    {% set measures = [] %}
    {% for name, aggregate in given.measures.items() %}
        {% do measures.append(collapsing._measure(model_name, name, aggregate)) %}
    {% endfor %}

    {% set seen = [] %}
    {% for name in group_by.keys() | list + measures | map(attribute='name') | list %}
        {% if name is not string or name.lower().startswith('ledger_') %}
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
    {% do collapsing._check_operands(model_name, measures) %}
    {{ return({'group_by': group_by, 'measures': measures}) }}
{% endmacro %}
