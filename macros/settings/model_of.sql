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
        "it has settings in config(meta={'collapsing': {...}}), but its SQL does not call collapsing." ~ collapsing._kind_if_any(node)
        ~ '(...): dbt builds it as a ' ~ node.config.materialized
    ) }}
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


{#
    Returns the last batch, `upto` at most, that all projections of a ledger have read. One that has read an earlier table alone is rebuilt,
    whatever becomes of these batches; one to which the others add nothing is marked as having read them, but not in a dry run.
#}
{% macro _last_read_by_all(node, source, batches, upto, dry_run=false) %}
    {% set limit = namespace(upto=upto) %}
    {% for reader in collapsing._readers_of(node) %}
        {% set relation = collapsing._relation_if_any(reader) %}
        {% set read = (collapsing._batches_of(relation) or {}).last if relation is not none else none %}
        {% if read and read < limit.upto and read >= batches.first and collapsing._is_built_from(relation, source)
            and (collapsing._adds_something(source, read, limit.upto)
                or not (dry_run or collapsing._mark_as_read(relation, read, limit.upto))) %}
            {% do collapsing._say(
                node.name, "projection '" ~ reader.name ~ "' has read up to batch " ~ read ~ ': later batches are kept'
            ) %}
            {% set limit.upto = read %}
        {% endif %}
    {% endfor %}
    {{ return(limit.upto) }}
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
    Returns whether the batches (after, upto] of a ledger have something to add to a projection: tombstones count for nothing. A base of later
    batches says nothing about these batches alone: a projection reads it as a whole.
#}
{% macro _adds_something(source, after, upto) %}
    {{ return(collapsing._rows_of(
        'select 1 from ' ~ source ~ ' where ledger_batch < ' ~ -after ~ ' or (ledger_batch > ' ~ after ~ ' and ledger_batch <= ' ~ upto
        ~ ' and ledger_sign <> 0) limit 1'
    ) | length > 0) }}
{% endmacro %}


{# Marks a projection as having read the batches (after, upto], unless a run is writing it; returns whether it has done so. #}
{% macro _mark_as_read(projection, after, upto) %}
    {% set may_write = collapsing._is_sole_writer() or collapsing._create_lock(projection).run == invocation_id %}
    {% if not may_write %}{{ return(false) }}{% endif %}
    {% set batches = collapsing._batches_of(projection) %}
    {% set is_unchanged = batches and batches.last == after %}
    {% do collapsing._append_empty(projection, upto) if is_unchanged %}
    {% do collapsing._release_lock(projection) %}
    {{ return(is_unchanged) }}
{% endmacro %}
