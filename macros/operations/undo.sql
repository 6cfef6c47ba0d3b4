{% macro undo(model=none, batch=none, dry_run=false) %}
    {% if execute %}
        {% set node = collapsing._asked_model('undo', model, ['ledger']) %}
        {% do collapsing._kind_of(node, 'undo', 'ledger') %}
        {% if dry_run is not boolean %}
            {% do collapsing._raise(node.name, "undo's dry_run must be true or false; given: " ~ dry_run) %}
        {% endif %}
        {% if batch is not integer or batch < 1 %}
            {% do collapsing._raise(
                node.name, "undo needs 'batch', the number of the batch to undo; given: "
                ~ (collapsing._shown(batch) if batch is not none else 'nothing')
            ) %}
        {% endif %}
        {% set settings, table = collapsing._ledger_settings(node), collapsing._table_of(node) %}
        {% do collapsing._check_compactable(node, settings, table) %}
        {% if collapsing._is_undoable(node, table, batch) %}
            {% do collapsing._undo_from(node, settings, table, batch, dry_run) %}
        {% else %}
            {% do collapsing._say(node.name, 'there is no batch ' ~ batch ~ ' to undo: nothing was changed') %}
        {% endif %}
    {% endif %}
{% endmacro %}


{# Returns whether a ledger has a batch that can be undone. Raises an error where it has it, but compacted with others. #}
{% macro _is_undoable(node, table, batch) %}
    {% if batch > table.compacted %}{{ return(batch <= table.last) }}{% endif %}
    {% set counting = collapsing._rows_of(
        'select 1 from ' ~ collapsing._visible_notes(table.relation)
        ~ " where act in ('run', 'full_refresh') and batch = " ~ batch
    ) %}
    {% if counting %}
        {% do collapsing._raise(
            node.name, 'batch ' ~ batch ~ ' cannot be undone: an optimize, an undo or a full refresh has made one compacted batch'
            ~ ' of all up to ' ~ table.compacted
        ) %}
    {% endif %}
    {{ return(false) }}
{% endmacro %}


{# Takes the batches from `batch` on away: what was there before them becomes a compacted batch, which stands for all. #}
{% macro _undo_from(node, settings, table, batch, dry_run) %}
    {% set number, what = table.last + 1, collapsing._batches_in_words(batch, table.last) %}
    {% if dry_run %}
        {% do collapsing._say(node.name, 'would undo ' ~ what ~ ' (dry run: nothing was changed)') %}
        {{ return(none) }}
    {% endif %}
    {% set settings = dict(settings, tombstone_retention=none) %}
    {% do collapsing._commit(
        table, -number, collapsing._compaction(table, settings, batch - 1, 'undo', number), empties=[number]
    ) %}
    {% do collapsing._say(
        node.name, 'undid ' ~ what ~ ', by batch ' ~ number ~ ': final is again what it was before batch ' ~ batch
        ~ '. What these batches had read is unread again, and projections are rebuilt by their next run'
    ) %}
{% endmacro %}
