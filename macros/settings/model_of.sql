{#
    Returns whether dbt's graph lists the models of the project. It does not while dbt parses; nor in a unit test, where ref() gives the rows
    of the test: there a macro that reads a ledger or projection returns these rows as they are.
#}
{% macro _knows_models() %}
    {{ return(execute and 'nodes' in graph) }}
{% endmacro %}


{# Returns the graph's node of the model that a relation or a shard's table belongs to, or none: settings are looked up there. #}
{% macro _model_of(relation) %}
    {% set identifier, schema = (relation.identifier or '') | lower, (relation.schema or '') | lower %}
    {#- this is called often, for every model: only those whose name begins so need a closer look -#}
    {% for node in graph.nodes.values() if node.resource_type == 'model' and identifier.startswith(node.alias | lower) %}
        {% do return(node) if collapsing._is_table_of(node, relation) %}
    {% endfor %}
    {#- with --defer a ref() may give the table of another environment -#}
    {% for node in graph.nodes.values() if node.get('defer_relation') %}
        {% do return(node) if node.defer_relation.schema | lower == schema and node.defer_relation.alias | lower == identifier %}
    {% endfor %}
    {{ return(none) }}
{% endmacro %}


{# Returns whether a relation is the table of a model or of one of its shards, in this environment. #}
{% macro _is_table_of(node, relation) %}
    {#- a subquery has no identifier; Spark does not distinguish upper and lower case -#}
    {% set identifier, schema, alias = (relation.identifier or '') | lower, (relation.schema or '') | lower, node.alias | lower %}
    {% set is_elsewhere = node.database and relation.database and node.database | lower != relation.database | lower %}
    {{ return(node.schema | lower == schema and not is_elsewhere and (alias == identifier
        or (identifier.startswith(alias ~ '__shard_') and identifier in collapsing._shard_names(node) | map('lower')))) }}
{% endmacro %}


{# Returns 'ledger' or 'projection', by the settings of a node. Raises an error that names the model if it is neither. #}
{% macro _kind_of(node, asked_by) %}
    {% set kind = collapsing._kind_if_any(node) %}
    {{ collapsing._raise(
        node.name if node is not none else '?',
        asked_by ~ " needs a model with settings in config(meta={'collapsing': {...}}), and "
        ~ ('this one has none' if node is not none else 'what it is given is no model of this project')
    ) if kind is none }}
    {{ collapsing._raise(node.name, collapsing._no_call(node)) if not collapsing._is_built_here(node) }}
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


{# Returns whether the settings of a node are those of a projection. #}
{% macro _is_projection(node) %}
    {{ return(collapsing._kind_if_any(node) == 'projection') }}
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
    {% set sources = collapsing._sources_of(node) if collapsing._is_projection(node) else [] %}
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


{# Returns the code of this model and of the models that it reads, as one text. #}
{% macro _code_read() %}
    {{ return(collapsing._lineage_of(model) | map(attribute='raw_code') | select | join('\n')) }}
{% endmacro %}


{# Returns the nodes of the projections and joined ledgers that read a ledger or projection, `node` in the graph. #}
{% macro _readers_of(node) %}
    {% set readers = [] %}
    {% for reader in graph.nodes.values() if node.unique_id in reader.depends_on.nodes
        and (collapsing._is_projection(reader) or collapsing._is_joined(reader)) %}
        {% do readers.append(reader) %}
    {% endfor %}
    {{ return(readers) }}
{% endmacro %}


{#
    Returns (another ledger that has folded `changes` of this one, in any of its shards; the model in its lineage that reads them),
    or none.
#}
{% macro _ledger_fed_by(node) %}
    {% for ledger in graph.nodes.values() if collapsing._kind_if_any(ledger) == 'ledger' and ledger.unique_id != node.unique_id
        and collapsing._is_built_here(ledger) %}
        {#- which tells the format of all shards -#}
        {% set own = api.Relation.create(ledger.database, ledger.schema, ledger.alias) %}
        {% for read in collapsing._lineage_of(ledger)
            if node.unique_id in read.depends_on.nodes and 'macro.collapsing.changes' in read.depends_on.macros %}
            {% for name in collapsing._names_in_all_shards(ledger) %}
                {% set table = adapter.get_relation(ledger.database, ledger.schema, name) %}
                {% do return((ledger, read)) if table is not none and collapsing._batches_of(table, own) %}
            {% endfor %}
        {% endfor %}
    {% endfor %}
    {{ return(none) }}
{% endmacro %}


{# Raises an error where another ledger has folded `changes` of this one: it would take rows of a base or a new table again. #}
{% macro _check_not_fed_on(node, what) %}
    {% set fed = collapsing._ledger_fed_by(node) %}
    {% if fed %}
        {% set ledger, read = fed %}
        {{ collapsing._raise(
            node.name, 'it cannot be ' ~ what ~ ": the ledger '" ~ ledger.name ~ "' is fed by its changes, in the model '" ~ read.name
            ~ "', and would take rows twice, or miss some. Feed '" ~ ledger.name ~ "' from the stage of " ~ node.name
            ~ " instead, or drop the table of '" ~ ledger.name ~ "' first"
        ) }}
    {% endif %}
{% endmacro %}


{#
    Returns the last batch, `upto` at most, that all readers of a ledger or projection have read: its projections, and joined
    ledgers. One that has read an earlier table alone is built again, whatever becomes of these batches; one to which the others add
    nothing is marked as having read them, but not in a dry run.
#}
{% macro _last_read_by_all(node, source, batches, upto, dry_run=false) %}
    {% set limit = namespace(upto=upto) %}
    {% for reader in collapsing._readers_of(node) %}
        {% set relation = collapsing._relation_if_any(reader) %}
        {% set read, is_joined = collapsing._watermark_of_reader(reader, node), collapsing._is_joined(reader) %}
        {% if read is not none and read < limit.upto and not 0 < read < batches.first
            and (is_joined or (collapsing._is_built_from(relation, source) and (collapsing._adds_something(source, read, limit.upto)
                or not (dry_run or collapsing._mark_as_read(relation, read, limit.upto))))) %}
            {% do collapsing._say(
                node.name, ('joined ledger' if is_joined else 'projection') ~ " '" ~ reader.name
                ~ "' has read up to batch " ~ read ~ ': later batches are kept'
            ) %}
            {% set limit.upto = read %}
        {% endif %}
    {% endfor %}
    {{ return(limit.upto) }}
{% endmacro %}


{# Returns the last batch of a ledger or projection, `node`, that a reader of it has read; none where it is empty or not built. #}
{% macro _watermark_of_reader(reader, node) %}
    {% set relation = collapsing._relation_if_any(reader) %}
    {% set batches = collapsing._batches_of(relation) if relation is not none else none %}
    {% do return(none) if not batches %}
    {% do return(collapsing._watermarks_of(relation, batches).read.get(node.unique_id)) if collapsing._is_joined(reader) %}
    {{ return(batches.last) }}
{% endmacro %}


{#
    Returns whether a projection was built from the table that its model reads here: with --defer it may have been built from that of another
    environment, whose batches have the same numbers. A table that Spark has listed is spelled in lower case.
#}
{% macro _is_built_from(projection, source) %}
    {% set built_from = collapsing._property_in(collapsing._describe(projection), 'collapsing.projection') or {} %}
    {{ return((built_from.source or '') | replace('`', '') | lower == source | string | replace('`', '') | lower) }}
{% endmacro %}


{#
    Returns whether the batches (after, upto] have something to add to a projection that reads them. A base of later batches says nothing
    about these batches alone: a projection reads it as a whole. Tombstones of a ledger count for nothing.
#}
{% macro _adds_something(source, after, upto) %}
    {{ return(collapsing._rows_of(
        'select 1 from ' ~ source ~ ' where ledger_batch < ' ~ -after ~ ' or (ledger_batch > ' ~ after ~ ' and ledger_batch <= ' ~ upto
        ~ (' and ledger_sign <> 0' if collapsing._kind_if_any(collapsing._model_of(source)) == 'ledger' else '') ~ ') limit 1'
    ) | length > 0) }}
{% endmacro %}


{# Marks a projection as having read the batches (after, upto], unless a run is writing it; returns whether it has done so. #}
{% macro _mark_as_read(projection, after, upto) %}
    {% do return(false) if not (collapsing._is_sole_writer() or collapsing._create_lock(projection).run == invocation_id) %}
    {% set batches = collapsing._batches_of(projection) %}
    {% set is_unchanged = batches and batches.last == after %}
    {% do collapsing._append_empty(projection, upto) if is_unchanged %}
    {% do collapsing._release_lock(projection) %}
    {{ return(is_unchanged) }}
{% endmacro %}
