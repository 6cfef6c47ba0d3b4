{% macro optimize(model=none, keep_batches=0, dry_run=false) %}
    {% if execute %}
        {% if keep_batches is not integer or keep_batches < 0 %}
            {% do exceptions.raise_compiler_error(
                "collapsing: optimize's keep_batches must be a number of batches, 0 or more; given: "
                ~ collapsing._shown(keep_batches)
            ) %}
        {% endif %}
        {% if dry_run is not boolean %}
            {% do exceptions.raise_compiler_error("collapsing: optimize's dry_run must be true or false; given: " ~ dry_run) %}
        {% endif %}
        {% for node in collapsing._asked_models('optimize', model) %}
            {% do collapsing._kind_of(node, 'optimize', 'ledger') %}
            {% set settings, table = collapsing._ledger_settings(node), collapsing._table_of(node) %}
            {% set because = collapsing._why_not_built(table) if model is none else none %}
            {% if because %}
                {% do collapsing._say(node.name, 'left out: ' ~ because) %}
            {% else %}
                {% do collapsing._check_compactable(node, settings, table) %}
                {% do collapsing._optimize_ledger(node, settings, table, keep_batches, dry_run) %}
            {% endif %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{# Makes one compacted batch of a ledger's batches that all projections have read, but for the newest `keep_batches`. #}
{% macro _optimize_ledger(node, settings, table, keep_batches=0, dry_run=false) %}
    {% set compacted, upto = table.compacted, collapsing._last_to_optimize(node, table, keep_batches) %}
    {% if upto <= compacted %}
        {% do collapsing._say(node.name, 'there is nothing to optimize after batch ' ~ compacted) %}
        {{ return(none) }}
    {% endif %}
    {% set what = collapsing._batches_in_words(compacted + 1, upto) %}
    {% if dry_run %}
        {% do collapsing._say(node.name, 'would optimize ' ~ what ~ ' (dry run: nothing was changed)') %}
        {{ return(none) }}
    {% endif %}
    {#- where every row is kept, a later batch may have an older row of a key that a tombstone keeps deleted -#}
    {% set keeps_tombstones = collapsing._engine(settings).keeps_every_row and upto < table.last %}
    {% set settings = dict(settings, tombstone_retention=none) if keeps_tombstones else settings %}

    {% do collapsing._commit(
        table, -upto, collapsing._compaction(table, settings, upto, 'optimize', upto), beside_runs=true,
        reads=collapsing._visible_numbers(table, upto)
    ) %}

    {% set note = collapsing._note_written(table, -upto, 'optimize') %}
    {% do collapsing._say(
        node.name, 'optimized ' ~ what ~ '; rows left of all batches up to ' ~ upto ~ ': '
        ~ (note.states + note.cancels + note.tombstones) ~ ', tombstones among them: ' ~ note.tombstones
    ) %}
{% endmacro %}


{# Returns the last batch that an optimize of a ledger may compact: at most what every valid projection has read. #}
{% macro _last_to_optimize(node, table, keep_batches) %}
    {% set limit = namespace(upto=table.last - keep_batches) %}
    {% for reader in collapsing._readers_of(node) %}
        {% set read = collapsing._valid_watermark(reader, table) %}
        {% if read is not none and read < limit.upto %}
            {% do collapsing._say(
                node.name, "projection '" ~ reader.name ~ "' has read up to batch " ~ read ~ ': later batches stay'
            ) %}
            {% set limit.upto = read %}
        {% endif %}
    {% endfor %}
    {{ return(limit.upto) }}
{% endmacro %}
