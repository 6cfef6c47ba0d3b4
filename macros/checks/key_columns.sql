{# Returns the columns that name a row of a final: the key of a ledger, the groups of a projection. #}
{% macro _key_columns(node) %}
    {% if collapsing._kind_of(node, 'a key') == 'projection' %}
        {{ return(collapsing._projection_settings(node.name, node.config.meta.collapsing).group_by.keys() | list) }}
    {% endif %}
    {{ return(collapsing._ledger_settings(node.name, node.config.meta.collapsing).key) }}
{% endmacro %}
