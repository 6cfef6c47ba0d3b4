{#
    Runs after a ledger's insert. A batch that appended nothing (every row a duplicate) is not there, so that its blocks would
    be read again: it is made true without rows. Then the batch's row of the history is written, a new table is marked with
    its rules, and the ledger is optimized where that is asked for, and let go.
#}
{% macro _close_batch(ledger) %}
    {% if execute %}
        {% set settings = collapsing._ledger_settings(model.name, model.config.meta.get('collapsing')) %}
        {#- dbt takes a new table into its cache after the hooks -#}
        {% do adapter.cache_added(ledger.incorporate(type='table')) if load_relation(ledger) is none %}
        {% set written = collapsing._batches_of(collapsing._history_relation(ledger), ledger) %}
        {% set held = collapsing._batches_of(ledger) %}
        {% if not held or (written and held.last <= written.last) %}
            {% set held = collapsing._close_without_rows(ledger, held) %}
        {% endif %}
        {% if held %}
            {% do collapsing._write_history(ledger, held, written) %}
            {% do collapsing._sign_ledger(ledger, settings) if held.first == held.last %}
            {% do collapsing._optimize_if_worth(ledger, settings) %}
        {% endif %}
        {% do collapsing._finish_table(ledger) %}
        {% do collapsing._release_hold(ledger) %}
    {% endif %}
{% endmacro %}


{# Makes the batch true that this run has noted and that has no rows, and gives what the ledger then holds. #}
{% macro _close_without_rows(ledger, held) %}
    {% set noted = collapsing._batches_of(collapsing._blocks_relation(ledger), ledger) %}
    {% if noted and (not held or held.last < noted.last) and collapsing._is_noted_by_this_run(ledger, noted.last) %}
        {% do collapsing._close_empty_batch(ledger, noted.last) %}
        {{ return(collapsing._batches_of(ledger)) }}
    {% endif %}
    {{ return(held) }}
{% endmacro %}


{# Gives whether the note of a batch is this run's: one of a killed run says nothing of what this one has done. #}
{% macro _is_noted_by_this_run(ledger, number) %}
    {{ return(collapsing._rows_of(
        'select 1 from ' ~ collapsing._blocks_relation(ledger) ~ ' where ledger_batch = ' ~ number
        ~ " and run_id = '" ~ invocation_id ~ "' limit 1"
    ) | length == 1) }}
{% endmacro %}
