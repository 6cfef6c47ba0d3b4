{#
    Returns the graph's node of the model that a relation stands for, a table of one shard too, or none: settings are looked up there
    and nowhere else.
#}
{% macro _model_of(relation) %}
    {% set identifier = relation.identifier or '' %}{# a subquery has none #}
    {% for node in graph.nodes.values() if node.resource_type == 'model' %}
        {#- the names of shards are asked of no other model: this is called often, of every model there is -#}
        {% set is_of_shard = identifier.startswith(node.alias ~ '__shard_') %}
        {% if node.schema == relation.schema and (node.alias == identifier
            or (is_of_shard and identifier in collapsing._shard_names(node))) %}
            {{ return(node) }}
        {% endif %}
    {% endfor %}
    {{ return(none) }}
{% endmacro %}


{# Returns 'ledger' or 'projection': what the settings of a node make of it. Neither is an error that names the model. #}
{% macro _kind_of(node, asked_by) %}
    {% set kind = collapsing._kind_if_any(node) %}
    {% if kind is none %}
        {{ collapsing._raise(
            node.name if node is not none else '?',
            asked_by ~ " needs a model with settings in config(meta={'collapsing': {...}}), and this one has none"
        ) }}
    {% endif %}
    {{ return(kind) }}
{% endmacro %}


{# Returns 'ledger' or 'projection', or none for a node that is neither. #}
{% macro _kind_if_any(node) %}
    {% set meta = node.config.get('meta', {}).get('collapsing') if node is not none else none %}
    {% if meta is not mapping %}
        {{ return(none) }}
    {% endif %}
    {{ return('projection' if 'measures' in meta or 'group_by' in meta else 'ledger') }}
{% endmacro %}
