{# Returns the graph's node of the model that a relation or a shard's table belongs to, or none: settings are looked up there. #}
{% macro _model_of(relation) %}
    {#- a subquery has no identifier; Spark does not distinguish upper and lower case -#}
    {% set identifier, schema = (relation.identifier or '') | lower, (relation.schema or '') | lower %}
    {% for node in graph.nodes.values() if node.resource_type == 'model' %}
        {#- only models with shards need their names looked up: this is called often, for every model -#}
        {% set is_of_shard = identifier.startswith(node.alias | lower ~ '__shard_') %}
        {% set is_elsewhere = node.database and relation.database and node.database | lower != relation.database | lower %}
        {% if node.schema | lower == schema and not is_elsewhere and (node.alias | lower == identifier
            or (is_of_shard and identifier in collapsing._shard_names(node) | map('lower'))) %}
            {{ return(node) }}
        {% endif %}
    {% endfor %}
    {#- with --defer a ref() may give the table of another environment -#}
    {% for node in graph.nodes.values() if node.get('defer_relation') %}
        {% do return(node) if node.defer_relation.schema | lower == schema and node.defer_relation.alias | lower == identifier %}
    {% endfor %}
    {{ return(none) }}
{% endmacro %}


{# Returns 'ledger' or 'projection', by the settings of a node. Raises an error that names the model if it is neither. #}
{% macro _kind_of(node, asked_by) %}
    {% set kind = collapsing._kind_if_any(node) %}
    {% if kind is none %}
        {{ collapsing._raise(
            node.name if node is not none else '?',
            asked_by ~ " needs a model with settings in config(meta={'collapsing': {...}}), and "
            ~ ('this one has none' if node is not none else 'what it is given is no model of this project')
        ) }}
    {% elif not collapsing._is_built_here(node) %}
        {{ collapsing._raise(node.name, collapsing._no_call(node)) }}
    {% endif %}
    {{ return(kind) }}
{% endmacro %}


{# Returns in words what is wrong with a model that has settings and does not call the macro that they are for. #}
{% macro _no_call(node) %}
    {{ return(
        "it has settings in config(meta={'collapsing': {...}}), but its SQL does not call collapsing."
        ~ ('joined' if collapsing._is_joined(node) else collapsing._kind_if_any(node)) ~ '(...): dbt builds it as a ' ~ node.config.materialized
    ) }}
{% endmacro %}


{# Returns whether a node of the graph is built by a materialization of the package. #}
{% macro _is_built_here(node) %}
    {{ return(node.config.materialized in ['incremental_ledger', 'incremental_projection', 'incremental_joined']) }}
{% endmacro %}


{# Returns whether the settings of a node are those of a joined ledger. #}
{% macro _is_joined(node) %}
    {{ return(collapsing._kind_if_any(node) == 'ledger' and 'join' in node.config.meta.collapsing) }}
{% endmacro %}


{# Returns 'ledger' or 'projection', or none for a node that is neither. #}
{% macro _kind_if_any(node) %}
    {% set meta = node.config.get('meta', {}).get('collapsing') if node is not none else none %}
    {% do return(none) if meta is not mapping %}
    {{ return('projection' if 'measures' in meta or 'group_by' in meta else 'ledger') }}
{% endmacro %}


{# Returns the nodes of the ledgers and projections that a node of the graph reads. #}
{% macro _sources_of(node) %}
    {% set sources = [] %}
    {% for id in node.depends_on.nodes if collapsing._kind_if_any(graph.nodes.get(id)) %}
        {% do sources.append(graph.nodes[id]) %}
    {% endfor %}
    {{ return(sources) }}
{% endmacro %}


{# Returns the graph's node of the ledger that a projection follows, directly or through another one; of a ledger itself. #}
{% macro _ledger_of(node) %}
    {% set sources = collapsing._sources_of(node) if collapsing._kind_if_any(node) == 'projection' else [] %}
    {{ return(collapsing._ledger_of(sources[0]) if sources else node) }}
{% endmacro %}


{# Returns a node of the graph and all that it reads, directly or through others. #}
{% macro _lineage_of(node) %}
    {% set waiting, found, seen = [node], [node], [] %}
    {% for _ in range(graph.nodes | length) if waiting %}
        {% for id in waiting.pop().depends_on.nodes if id in graph.nodes and id not in seen %}
            {% do seen.append(id) %}
            {% do found.append(graph.nodes[id]) %}
            {% do waiting.append(graph.nodes[id]) %}
        {% endfor %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{# Returns the code of a model and of the models that it reads, as one text. #}
{% macro _code_read_by(node) %}
    {{ return(collapsing._lineage_of(node) | map(attribute='raw_code') | select | join('\n')) }}
{% endmacro %}
