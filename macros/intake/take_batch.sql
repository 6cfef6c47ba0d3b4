{#
    Fixes what a run folds, before any row of it is read. `held` is what _batches_of gives of the ledger, or none where it is
    built from nothing. Gives
        number   the batch number its rows will carry
        unread   SQL over the stage's columns that is true for the rows to fold; none takes the whole stage
        bounds   SQL over the ledger's key columns, alias `stored`: outside of it no key of the batch can lie; or none
        undone   batches that were taken back, and those that took them back: no lookup may see them
        rows     how many rows are taken
        blocks   their tokens, as text
    A block counts as folded when a batch that the ledger holds has taken it: what was taken is written down first, in
    <ledger>__blocks, and the ledger's own commit makes it true. A killed run leaves a note that nobody believes.
#}
{% macro _take_batch(stage, ledger, settings, columns, held) %}
    {% set last = held.last if held else collapsing._last_of_earlier_lives(ledger) %}
    {% set notes = collapsing._notes_of(ledger, held, with_blocks=true) %}
    {% set found = collapsing._look_at_stage(stage, settings, columns, notes.folded) %}
    {% do collapsing._refuse_bad_rows(stage, settings, columns, found) %}

    {% set unread = collapsing._is_block_in(settings, columns, found.blocks) if settings.block else none %}
    {% set batch = {
        'number': last + 1,
        'unread': unread if not found.bad else unread ~ ' and not (' ~ collapsing._is_bad(settings) ~ ')',
        'bounds': collapsing._key_bounds(settings, columns, found),
        'undone': notes.undone,
        'rows': found.rows,
        'blocks': found.blocks
    } %}
    {% if settings.block and found.blocks and collapsing._may_write() %}
        {% set decisions = found.bad %}
        {% if settings.count_decisions %}
            {% set decisions = collapsing._decision_counts(
                stage, ledger, settings, columns, held, notes, dict(batch, unread=unread)
            ) %}
        {% endif %}
        {% do collapsing._log_batch(batch, decisions) %}
        {% do collapsing._note_blocks(ledger, batch.number, found, decisions) %}
        {% do collapsing._set_aside(stage, ledger, settings, columns, batch.number, unread, found) %}
    {% endif %}
    {{ return(batch) }}
{% endmacro %}


{# Gives {decision: rows} of the batch that is about to be appended. #}
{% macro _decision_counts(stage, ledger, settings, columns, held, notes, batch) %}
    {% set counts = {} %}
    {% for row in collapsing._rows_of(
        'select decision, count(*) from ' ~ collapsing._decided_rows(stage, ledger, settings, columns, held, notes, batch)
        ~ ' group by decision order by decision'
    ) %}
        {% do counts.update({row[0]: row[1]}) %}
    {% endfor %}
    {{ return(counts) }}
{% endmacro %}


{# Says in a line what a batch takes and what became of it. #}
{% macro _log_batch(batch, decisions) %}
    {% set parts = [] %}
    {% for decision, rows in decisions.items() %}
        {% do parts.append(decision ~ ' ' ~ rows) %}
    {% endfor %}
    {% do collapsing._log(
        'batch ' ~ batch.number ~ ': ' ~ batch.blocks | length ~ ' blocks, ' ~ batch.rows ~ ' rows'
        ~ (' (' ~ parts | join(', ') ~ ')' if parts else '')
    ) %}
{% endmacro %}


{#
    Gives the highest batch number that a ledger which is built from nothing ever had, 0 for none. Such numbers are not used
    again: its projections would take them for read.
#}
{% macro _last_of_earlier_lives(ledger) %}
    {% set lasts = [0] %}
    {% for relation in [ledger, collapsing._blocks_relation(ledger)] %}
        {% set held = collapsing._batches_of(relation, ledger) %}
        {% do lasts.append(held.last) if held %}
    {% endfor %}
    {{ return(lasts | max) }}
{% endmacro %}
