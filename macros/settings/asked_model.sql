{# Returns the graph's node of the ledger given to a public macro. Raises an error that names what was given instead. #}
{% macro _asked_ledger(asked_by, relation) %}
    {% do collapsing._check_relation(asked_by, relation) %}
    {% set node = collapsing._model_of(relation) %}
    {{ collapsing._raise(relation, asked_by ~ ' needs a ledger, and this is no model of this project') if node is none }}
    {{ collapsing._raise(node.name, asked_by ~ ' needs a ledger; this is a projection')
        if collapsing._kind_of(node, asked_by) != 'ledger' }}
    {% do collapsing._check_one_shard(node) %}
    {% do collapsing._check_reader_of_shards(asked_by, node) %}
    {{ return(node) }}
{% endmacro %}


{# Raises an error where something is asked of a joined ledger that a ledger with a stage alone can answer. #}
{% macro _check_has_stage(node, asked_by) %}
    {{ collapsing._raise(
        node.name, asked_by ~ ' needs a ledger that has a stage; this is a joined ledger, which follows the ledgers that it reads: ask one of '
        ~ collapsing._sources_of(node) | map(attribute='name') | join(', ')
    ) if collapsing._is_joined(node) }}
{% endmacro %}


{# Returns the graph's node of a stage by the name of a model, seed or snapshot, or of a source as `source_name.table_name`. #}
{% macro _asked_stage(operation, name) %}
    {% for source in graph.sources.values() if source.source_name ~ '.' ~ source.name == name %}
        {{ return(source) }}
    {% endfor %}
    {% set nodes = graph.nodes.values() | selectattr('resource_type', 'in', ['model', 'seed', 'snapshot']) | list %}
    {% set found = collapsing._node_named(operation, nodes, name) %}
    {% do return(found) if found %}
    {{ exceptions.raise_compiler_error(
        'collapsing: ' ~ operation ~ " needs 'stage', the name of a model, a seed or a snapshot, or a source as source_name.table_name; given: "
        ~ (name if name is not none else 'nothing')
    ) }}
{% endmacro %}


{# Returns the table or view of a node of the graph, or none; a source of dbt has no alias. #}
{% macro _relation_if_any(node) %}
    {{ return(adapter.get_relation(node.database, node.schema, node.alias or node.identifier)) }}
{% endmacro %}


{# Returns the table or view of a stage, `node` in the graph. Raises an error if it does not exist. #}
{% macro _relation_of_stage(asked_by, node) %}
    {% set relation = collapsing._relation_if_any(node) %}
    {{ exceptions.raise_compiler_error(
        'collapsing: ' ~ asked_by ~ " reads the stage '" ~ node.name ~ "', which is ephemeral: make it a view"
    ) if node.config.materialized == 'ephemeral' }}
    {{ exceptions.raise_compiler_error(
        'collapsing: ' ~ asked_by ~ " reads the stage '" ~ node.name ~ "', and there is no table or view " ~ node.schema ~ '.' ~ (node.alias or node.identifier)
        ~ ': build it first'
    ) if relation is none }}
    {{ return(relation) }}
{% endmacro %}


{# Raises an error where a macro is to read a stage that is ephemeral, of which only a run of the ledger has the rows. #}
{% macro _check_not_ephemeral(asked_by, node, stage) %}
    {{ collapsing._raise(
        node.name, asked_by ~ " reads the stage '" ~ stage.identifier.removeprefix('__dbt__cte__') ~ "', which is ephemeral: make it a view"
    ) if stage.is_cte }}
{% endmacro %}


{# Returns the nodes of the graph that a ledger's model reads: its stage, and rarely something else. #}
{% macro _stages_of(node) %}
    {% set found = [] %}
    {% for id in node.depends_on.nodes | unique %}
        {% do found.append(graph.nodes.get(id) or graph.sources.get(id)) %}
    {% endfor %}
    {{ return(found | select | list) }}
{% endmacro %}


{#
    Returns the table or view of a ledger's stage, with --defer that of another environment where there is no other; none where the ledger's
    model reads more than one, or it is not there. A view that an ephemeral stage was before may still be there.
#}
{% macro _only_stage_of(node) %}
    {% set nodes = collapsing._stages_of(node) %}
    {% do return(none) if nodes | length != 1 or nodes[0].config.materialized == 'ephemeral' %}
    {% set relation, deferred = collapsing._relation_if_any(nodes[0]), nodes[0].defer_relation %}
    {{ return(collapsing._relation_if_any(deferred) if deferred and relation is none else relation) }}
{% endmacro %}


{#
    Returns the node that has this name: of a model's versions the latest, as for ref(), unless the name has one,
    orders.v1. None where there is none; raises an error where packages have several, which `package.name` tells apart.
#}
{% macro _node_named(operation, nodes, name) %}
    {% set found = [] %}
    {% for node in nodes %}
        {% set versions = [''] if node.version in [none, node.latest_version] else [] %}
        {% do versions.append('.v' ~ node.version) if node.version is not none %}
        {% for version in versions if name in [node.name ~ version, node.package_name ~ '.' ~ node.name ~ version] %}
            {% do found.append(node) %}
        {% endfor %}
    {% endfor %}
    {{ exceptions.raise_compiler_error(
        'collapsing: ' ~ operation ~ ": several packages have what is named '" ~ name ~ "': give one of "
        ~ found | map(attribute='package_name') | sort | join('.' ~ name ~ ', ') ~ '.' ~ name
    ) if found | length > 1 }}
    {{ return(found | first if found else none) }}
{% endmacro %}


{# Returns the graph's node of the model that an operation is asked about, by a name as _node_named takes it. #}
{% macro _asked_model(operation, name, kinds=['ledger', 'projection']) %}
    {% set models = graph.nodes.values() | selectattr('resource_type', 'equalto', 'model') | list %}
    {% set found = collapsing._node_named(operation, models, name) %}
    {% if not found %}
        {% set names = [] %}
        {% for node in models if collapsing._kind_if_any(node) in kinds %}
            {% do names.append(collapsing._name_to_ask(node)) %}
        {% endfor %}
        {{ exceptions.raise_compiler_error(
            'collapsing: ' ~ operation ~ " needs --args '{model: <name of a " ~ kinds | join(' or ') ~ ">}', one of: " ~ (names | sort | join(', ') or 'none')
            ~ '; given: ' ~ (name if name is not none else 'nothing')
        ) }}
    {% endif %}
    {{ return(found) }}
{% endmacro %}


{# Returns the name by which _asked_model or _asked_stage finds a node: all versions but the latest have theirs in it. #}
{% macro _name_to_ask(node) %}
    {% do return(node.source_name ~ '.' ~ node.name) if node.resource_type == 'source' %}
    {{ return(node.name ~ ('.v' ~ node.version if node.version not in [none, node.latest_version] else '')) }}
{% endmacro %}


{#
    Returns the graph's nodes of the models that an operation is asked about: one by its name, several by a list of names, or where nothing is given
    all of the project that are of these `kinds`, in order of their names.
#}
{% macro _asked_models(operation, asked, kinds) %}
    {% set found, is_list = [], asked is sequence and asked is not string and asked is not mapping %}
    {% for name in ((asked or [none]) if is_list else [asked] if asked is not none else []) %}
        {% do found.append(collapsing._asked_model(operation, name)) %}
    {% endfor %}
    {% set all = graph.nodes.values() if asked is none else [] %}
    {% for node in all if collapsing._is_built_here(node) and collapsing._kind_of(node, operation) in kinds %}
        {% do found.append(node) %}
    {% endfor %}
    {{ return(found if asked is not none else found | sort(attribute='name')) }}
{% endmacro %}


{# Returns the table of a node, or stops where it has not been built. #}
{% macro _built_relation(node) %}
    {% do collapsing._check_one_shard(node) %}
    {% set relation = collapsing._relation_if_any(node) %}
    {{ collapsing._raise(node.name, 'there is no table ' ~ node.schema ~ '.' ~ node.alias ~ ' yet: run the model first')
        if relation is none }}
    {{ return(relation) }}
{% endmacro %}
