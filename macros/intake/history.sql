{#
    <ledger>__history has one row for each batch of a ledger: what it took, what became of it, what it appended. A batch is
    its partition, written after the batch; what a killed run did not come to write is written by the next one, without its seconds.
        blocks, rows_read   what the batch took; NULL where there is no setting `block`
        decisions           how many of the rows came to what
        states, cancels, tombstones   the rows that it appended
        undoes              the batch that it takes back; else NULL
        seconds             from the note of its blocks to this row
        run_id, finished_at
#}
{% macro _history_relation(ledger) %}
    {{ return(collapsing._beside(ledger, 'history')) }}
{% endmacro %}


{# Writes the rows of the history that are missing. `held` and `written` are what _batches_of gives of ledger and history. #}
{% macro _write_history(ledger, held, written) %}
    {% set history = collapsing._history_relation(ledger) %}
    {% if load_relation(history) is none %}
        {% call statement('create_history') %}
            create table if not exists {{ history }} (
                blocks bigint, rows_read bigint, decisions map<string, bigint>, states bigint, cancels bigint, tombstones bigint,
                undoes int, seconds double, run_id string, finished_at timestamp, ledger_batch int
            )
            {{ collapsing._using(ledger) }}
            partitioned by (ledger_batch)
        {% endcall %}
        {% do adapter.cache_added(history) %}
    {% endif %}
    {% set first = [held.base + 1, held.first, written.last + 1 if written else 1] | max %}
    {% for number in range(first, held.last + 1) %}
        {% do collapsing._write_history_of(ledger, history, number) %}
    {% endfor %}
{% endmacro %}


{# Writes the row of one batch. #}
{% macro _write_history_of(ledger, history, number) %}
    {% set blocks = load_relation(collapsing._blocks_relation(ledger)) %}
    {% set since_note = 'unix_millis(current_timestamp()) - unix_millis(taken_at)' %}
    {% set seconds = "if(run_id = '" ~ invocation_id ~ "', " ~ since_note ~ ', null) / 1000' %}
    {% call statement('write_history') %}
        insert overwrite table {{ history }} partition (ledger_batch = {{ number }})
        select /*+ coalesce(1) */
            blocks, rows_read, decisions, states, cancels, tombstones, undoes,
            {{ seconds if blocks else 'null' }}, {{ 'run_id' if blocks else "'" ~ invocation_id ~ "'" }}, current_timestamp()
        from (
            select count_if(ledger_sign = 1) as states, count_if(ledger_sign = -1) as cancels, count_if(ledger_sign = 0) as tombstones
            from {{ ledger }}
            where ledger_batch = {{ number }}
        )
        cross join (
            {%- if blocks %}
            select
                nullif(count(block), 0) as blocks,
                max(if(block is null, staged, null)) as rows_read,
                any_value(decisions, true) as decisions,
                max(undoes) as undoes,
                max(run_id) as run_id,
                min(taken_at) as taken_at
            from {{ blocks }}
            where ledger_batch = {{ number }}
            {%- else %}
            select
                cast(null as bigint) as blocks, cast(null as bigint) as rows_read, cast(null as map<string, bigint>) as decisions,
                cast(null as int) as undoes
            {%- endif %}
        )
    {% endcall %}
{% endmacro %}
