{#
    Returns whether dbt's graph lists the models of the project. It does not while dbt parses; nor in a unit test, where ref() gives the rows
    of the test: there a macro that reads a ledger or projection returns these rows as they are.
#}
{% macro _knows_models() %}
    {{ return(execute and 'nodes' in graph) }}
{% endmacro %}


{# Returns the graph's node of the model that a relation is the table of, or none: settings are looked up there. #}
{% macro _model_of(relation) %}
    {% set identifier, schema = (relation.identifier or '') | lower, (relation.schema or '') | lower %}
    {% for node in graph.nodes.values() if node.resource_type == 'model' and node.alias | lower == identifier %}
        {% if collapsing._is_table_of(node, relation) %}{{ return(node) }}{% endif %}
    {% endfor %}
    {#- with --defer a ref() may give the table of another environment -#}
    {% for node in graph.nodes.values() if node.get('defer_relation') %}
        {% set deferred = node.defer_relation %}
        {% if deferred.schema | lower == schema and deferred.alias | lower == identifier %}{{ return(node) }}{% endif %}
    {% endfor %}
    {{ return(none) }}
{% endmacro %}


{# Returns whether a relation is the table of a model in this environment. #}
{% macro _is_table_of(node, relation) %}
    {#- a subquery has no identifier; Spark does not distinguish upper and lower case -#}
    {% set identifier, schema = (relation.identifier or '') | lower, (relation.schema or '') | lower %}
    {% set is_elsewhere = node.database and relation.database and node.database | lower != relation.database | lower %}
    {{ return(node.alias | lower == identifier and node.schema | lower == schema and not is_elsewhere) }}
{% endmacro %}


{# Returns 'ledger' or 'projection', by the settings of a node. Raises an error if it is neither, or not what is `wanted`. #}
{% macro _kind_of(node, asked_by, wanted=none) %}
    {% set kind = collapsing._kind_if_any(node) %}
    {{ collapsing._raise(
        node.name if node is not none else '?',
        asked_by ~ " needs a model with settings in config(meta={'collapsing': {...}}), and "
        ~ ('this one has none' if node is not none else 'what it is given is no model of this project')
    ) if kind is none }}
    {{ collapsing._raise(
        node.name, "it has settings in config(meta={'collapsing': {...}}), but its SQL does not call collapsing." ~ kind ~ '(...): dbt builds it as a '
        ~ node.config.materialized
    ) if not collapsing._is_built_here(node) }}
    {{ collapsing._raise(node.name, asked_by ~ ' needs a ' ~ wanted ~ '; this is a ' ~ kind) if wanted and kind != wanted }}
    {{ return(kind) }}
{% endmacro %}


{# Returns whether a node of the graph is built by a materialization of the package. #}
{% macro _is_built_here(node) %}
    {{ return(node.config.materialized in ['incremental_ledger', 'incremental_projection']) }}
{% endmacro %}


{# Returns whether the settings of a node are those of a projection. #}
{% macro _is_projection(node) %}
    {{ return(collapsing._kind_if_any(node) == 'projection') }}
{% endmacro %}


{# Returns 'ledger' or 'projection', or none for a node that is neither. #}
{% macro _kind_if_any(node) %}
    {% set meta = (node.config.get('meta') or {}).get('collapsing') if node is not none else none %}
    {% if meta is not mapping %}{{ return(none) }}{% endif %}
    {{ return('projection' if 'measures' in meta or 'group_by' in meta else 'ledger') }}
{% endmacro %}


{# Returns the nodes of the ledgers that a node of the graph reads, and of the projections, which cannot be projected again. #}
{% macro _sources_of(node) %}
    {% set sources = [] %}
    {% for id in node.depends_on.nodes if collapsing._kind_if_any(graph.nodes.get(id)) %}
        {% do sources.append(graph.nodes[id]) %}
    {% endfor %}
    {{ return(sources) }}
{% endmacro %}


{# Returns the nodes of the projections that read a ledger, `node` in the graph. #}
{% macro _readers_of(node) %}
    {% set readers = [] %}
    {% for reader in graph.nodes.values() if collapsing._is_projection(reader) and node.unique_id in reader.depends_on.nodes %}
        {% do readers.append(reader) %}
    {% endfor %}
    {{ return(readers) }}
{% endmacro %}


{# Returns the graph's node of the ledger given to a public macro. Raises an error that names what was given instead. #}
{% macro _asked_ledger(asked_by, relation) %}
    {% do collapsing._check_relation(asked_by, relation) %}
    {% set node = collapsing._model_of(relation) %}
    {% if node is none %}
        {% do collapsing._raise(relation, asked_by ~ ' needs a ledger, and this is no model of this project') %}
    {% endif %}
    {% do collapsing._kind_of(node, asked_by, 'ledger') %}
    {{ return(node) }}
{% endmacro %}


{# Returns the table or view of a node of the graph, or none; a source of dbt has no alias. #}
{% macro _relation_if_any(node) %}
    {{ return(adapter.get_relation(database=node.database, schema=node.schema, identifier=node.alias or node.identifier)) }}
{% endmacro %}


{# Raises an error where a macro is to read a stage that is ephemeral, of which only a run of the ledger has the rows. #}
{% macro _check_not_ephemeral(asked_by, node, stage) %}
    {{ collapsing._raise(
        node.name, asked_by ~ " reads the stage '" ~ stage.identifier.removeprefix('__dbt__cte__') ~ "', which is ephemeral: make it a view"
    ) if stage.is_cte }}
{% endmacro %}


{#
    Returns the table or view of a ledger's stage, with --defer that of another environment where there is no other; none where the ledger's
    model reads more than one, or it is not there. A view that an ephemeral stage was before may still be there.
#}
{% macro _only_stage_of(node) %}
    {% set ids = node.depends_on.nodes | unique | list %}
    {% set stage = graph.nodes.get(ids[0]) or graph.sources.get(ids[0]) if ids | length == 1 else none %}
    {% if not stage or stage.config.materialized == 'ephemeral' %}{{ return(none) }}{% endif %}
    {% set relation, deferred = collapsing._relation_if_any(stage), stage.defer_relation %}
    {{ return(collapsing._relation_if_any(deferred) if deferred and relation is none else relation) }}
{% endmacro %}


{#
    Returns the graph's node of the model that an operation is asked about, by its name: of a model's versions the latest, as for ref(), unless
    the name has one, orders.v1. Where packages have several of a name, `package.name` tells them apart.
#}
{% macro _asked_model(operation, name, kinds=['ledger', 'projection']) %}
    {% set found, names = [], [] %}
    {% for node in graph.nodes.values() if node.resource_type == 'model' %}
        {% set own = [collapsing._name_to_ask(node)] %}
        {% do own.append(node.name ~ '.v' ~ node.version) if node.version is not none %}
        {% do found.append(node) if name in own or (name | string).removeprefix(node.package_name ~ '.') in own %}
        {% do names.append(own[0]) if collapsing._kind_if_any(node) in kinds %}
    {% endfor %}
    {% if not found %}
        {% do exceptions.raise_compiler_error(
            'collapsing: ' ~ operation ~ " needs --args '{model: <name of a " ~ kinds | join(' or ') ~ ">}', one of: " ~ (names | sort | join(', ') or 'none')
            ~ '; given: ' ~ (name if name is not none else 'nothing')
        ) %}
    {% elif found | length > 1 %}
        {% do exceptions.raise_compiler_error(
            'collapsing: ' ~ operation ~ ": several packages have a model '" ~ name ~ "': give one of "
            ~ found | map(attribute='package_name') | sort | join('.' ~ name ~ ', ') ~ '.' ~ name
        ) %}
    {% endif %}
    {{ return(found[0]) }}
{% endmacro %}


{# Returns the name by which _asked_model finds a node: all versions but the latest have theirs in it. #}
{% macro _name_to_ask(node) %}
    {{ return(node.name ~ ('.v' ~ node.version if node.version not in [none, node.latest_version] else '')) }}
{% endmacro %}


{#
    Returns the graph's nodes of the models that an operation is asked about: one by its name, several by a list of names, or where nothing is given
    all ledgers of the project, in order of their names.
#}
{% macro _asked_models(operation, asked) %}
    {% set found = [] %}
    {% if asked is none %}
        {% for node in graph.nodes.values() if collapsing._is_built_here(node)
            and collapsing._kind_of(node, operation) == 'ledger' %}
            {% do found.append(node) %}
        {% endfor %}
        {{ return(found | sort(attribute='name')) }}
    {% endif %}
    {% for name in ([asked] if asked is string or asked is not sequence else asked or [none]) %}
        {% do found.append(collapsing._asked_model(operation, name)) %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{# Returns the table of a node, or stops where it has not been built. #}
{% macro _built_relation(node) %}
    {% set relation = collapsing._relation_if_any(node) %}
    {% if relation is none %}
        {% do collapsing._raise(node.name, 'there is no table ' ~ node.schema ~ '.' ~ node.alias ~ ' yet: run the model first') %}
    {% endif %}
    {{ return(relation) }}
{% endmacro %}
