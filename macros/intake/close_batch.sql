{#
    Runs after a ledger's insert. A batch that appended nothing (every row a duplicate) is not there, so that its blocks would
    be read again: it is made true without rows. Then the batch's row of the history is written, a new table is marked
    with its rules, and the ledger is optimized where that is asked for, and let go.
#}
{% macro _close_batch(ledger) %}
    {% if execute %}
        {% set held = collapsing._batches_of(ledger) %}
        {% set noted = collapsing._batches_of(collapsing._blocks_relation(ledger), ledger) %}
        {% if noted and (not held or held.last < noted.last) and collapsing._is_noted_by_this_run(ledger, noted.last) %}
            {% do collapsing._close_empty_batch(ledger, noted.last) %}
            {% set held = collapsing._batches_of(ledger) %}
        {% endif %}
        {% do collapsing._write_history(ledger, held) if held %}
        {% set settings = collapsing._ledger_settings(model.name, model.config.meta.get('collapsing')) %}
        {% do collapsing._sign_ledger(ledger, settings) %}
        {% do collapsing._finish_table(ledger) %}
        {% do collapsing._optimize_if_worth(ledger, settings) if held %}
        {% do collapsing._release_hold(ledger) %}
    {% endif %}
{% endmacro %}


{# Gives whether the note of a batch is this run's: one of a killed run says nothing of what this one has done. #}
{% macro _is_noted_by_this_run(ledger, number) %}
    {{ return(collapsing._rows_of(
        'select 1 from ' ~ collapsing._blocks_relation(ledger) ~ ' where ledger_batch = ' ~ number
        ~ " and run_id = '" ~ invocation_id ~ "' limit 1"
    ) | length == 1) }}
{% endmacro %}
