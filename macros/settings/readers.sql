{# Returns the nodes of the projections and joined ledgers that read a ledger or projection, `node` in the graph. #}
{% macro _readers_of(node) %}
    {% set readers = [] %}
    {% for reader in graph.nodes.values() if node.unique_id in reader.depends_on.nodes
        and (collapsing._kind_if_any(reader) == 'projection' or collapsing._is_joined(reader)) %}
        {% do readers.append(reader) %}
    {% endfor %}
    {{ return(readers) }}
{% endmacro %}


{# Returns (another ledger that is fed by `changes` of this one, the model in its lineage that reads them), or none. #}
{% macro _fed_on(node) %}
    {% for ledger in graph.nodes.values() if collapsing._kind_if_any(ledger) == 'ledger' and ledger.unique_id != node.unique_id
        and adapter.get_relation(ledger.database, ledger.schema, ledger.alias) is not none %}
        {% for read in collapsing._lineage_of(ledger)
            if node.unique_id in read.depends_on.nodes and 'macro.collapsing.changes' in read.depends_on.macros %}
            {{ return((ledger, read)) }}
        {% endfor %}
    {% endfor %}
    {{ return(none) }}
{% endmacro %}


{# Raises an error where another ledger is fed by `changes` of this one: it would fold the rows of a base again, as a batch. #}
{% macro _check_not_fed_on(node, what) %}
    {% set fed = collapsing._fed_on(node) %}
    {% if fed %}
        {% set ledger, read = fed %}
        {{ collapsing._raise(
            node.name, 'it cannot be ' ~ what ~ ": the ledger '" ~ ledger.name ~ "' is fed by its changes, in the model '" ~ read.name
            ~ "', and would fold again what is in a base. Feed '" ~ ledger.name ~ "' from the stage of " ~ node.name
            ~ " instead, or drop the table of '" ~ ledger.name ~ "' first"
        ) }}
    {% endif %}
{% endmacro %}


{#
    Returns the last batch, `upto` at most, that all readers of a ledger or projection have read: its projections, and joined
    ledgers. One that has read an earlier table alone is built again, whatever becomes of these batches.
#}
{% macro _read_by_all(node, source, batches, upto) %}
    {% set limit = namespace(upto=upto) %}
    {% for reader in collapsing._readers_of(node) %}
        {% set relation = adapter.get_relation(reader.database, reader.schema, reader.alias) %}
        {% set read, is_joined = collapsing._upto_read_by(reader, node), collapsing._is_joined(reader) %}
        {% if read is not none and read < limit.upto and not 0 < read < batches.first
            and (is_joined or not collapsing._has_read(relation, source, read, limit.upto)) %}
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
{% macro _upto_read_by(reader, node) %}
    {% set relation = adapter.get_relation(reader.database, reader.schema, reader.alias) %}
    {% set batches = collapsing._batches_of(relation) if relation is not none else none %}
    {% do return(collapsing._read_upto(relation, batches).get(node.unique_id)) if batches and collapsing._is_joined(reader) %}
    {{ return(batches.last if batches else none) }}
{% endmacro %}


{#
    Returns whether the batches after the one that a projection has read last have nothing to add to it; it is then marked as having read
    them, unless a run is writing it. A base of later batches is no news of these batches alone: a projection reads it as a whole.
#}
{% macro _has_read(projection, source, after, upto) %}
    {#- tombstones of a ledger count for nothing -#}
    {% set counting = ' and ledger_sign <> 0' if collapsing._kind_if_any(collapsing._model_of(source)) == 'ledger' else '' %}
    {% if collapsing._rows_of(
        'select 1 from ' ~ source ~ ' where ledger_batch < ' ~ -after ~ ' or (ledger_batch > ' ~ after ~ ' and ledger_batch <= ' ~ upto
        ~ counting ~ ') limit 1'
    ) or not (collapsing._is_sole_writer() or collapsing._create_lock(projection).run == invocation_id) %}
        {{ return(false) }}
    {% endif %}
    {% set batches = collapsing._batches_of(projection) %}
    {% set is_unchanged = batches and batches.last == after %}
    {% do collapsing._append_empty(projection, upto) if is_unchanged %}
    {% do collapsing._release_lock(projection) %}
    {{ return(is_unchanged) }}
{% endmacro %}
