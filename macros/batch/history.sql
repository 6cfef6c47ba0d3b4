{#
    <ledger>__history has one row per batch of a ledger: what it took, what became of it, what it appended. It is written after the
    batch is committed; what a killed run did not come to write is written by the next one, without its seconds.
        blocks, rows_read   what the batch took; NULL where there is no setting `block`
        decisions           how many of the rows came to what
        states, cancels, tombstones   the rows that it appended
        undoes              the batch that it takes back; else NULL
        seconds             from the start of the model to this row
        run_id, finished_at
#}
{% macro _history_relation(ledger) %}
    {{ return(collapsing._beside(ledger, 'history')) }}
{% endmacro %}


{# Writes the row of a batch that this run has committed, from what it knows of it. `begun_at` is when the model began, in UTC. #}
{% macro _write_history(ledger, settings, batch, begun_at, undoes=none) %}
    {% set seconds = (modules.datetime.datetime.utcnow() - begun_at).total_seconds() %}
    {% set known = settings.block and not undoes %}
    {% do collapsing._write_history_row(ledger, batch.number, [
        batch.blocks | length if known else 'null',
        batch.rows if known else 0 if undoes else 'null',
        collapsing._decision_map(batch.decisions) if known else 'null',
        batch.states, batch.cancels, batch.tombstones, undoes or 'null', seconds, "'" ~ invocation_id ~ "'"
    ]) %}
{% endmacro %}


{# Writes the row of a batch whose run was killed before it could, from the manifest and the rows of the batch. #}
{% macro _repair_history(ledger, settings, number) %}
    {% set sql %}
        select
            (select count(block) from {{ collapsing._manifest_relation(ledger) }} where planned_in = {{ number }}),
            planned.staged, to_json(planned.decisions), planned.undoes, planned.run_id,
            appended.states, appended.cancels, appended.tombstones
        from (
            select * from {{ collapsing._manifest_relation(ledger) }} where planned_in = {{ number }} and block is null
        ) as planned
        cross join (
            select
                count_if(ledger_sign = 1) as states,
                count_if(ledger_sign = -1) as cancels,
                count_if(ledger_sign = 0) as tombstones
            from {{ ledger }}
            -- not the row of a batch that has no other, which has no key
            where ledger_batch in ({{ number }}, {{ -number }}) and {{ adapter.quote(settings.key[0]) }} is not null
        ) as appended
    {% endset %}
    {% for row in collapsing._rows_of(sql) %}
        {% set known = row[3] is none %}
        {% do collapsing._write_history_row(ledger, number, [
            row[0] if known else 'null',
            row[1],
            collapsing._decision_map(fromjson(row[2])) if known and row[2] else 'null',
            row[5], row[6], row[7], 'null' if known else row[3], 'null', collapsing._text_literal(row[4])
        ]) %}
    {% endfor %}
{% endmacro %}


{# Writes one row: SQL for each column but finished_at and ledger_batch. #}
{% macro _write_history_row(ledger, number, values) %}
    {% set history = collapsing._history_relation(ledger) %}
    {% do collapsing._create_beside(
        history, ledger, 'blocks bigint, rows_read bigint, decisions map<string, bigint>, states bigint, cancels bigint, tombstones bigint, '
        ~ 'undoes int, seconds double, run_id string, finished_at timestamp_ltz, ledger_batch int'
    ) %}
    {% call statement('write_history') %}
        insert overwrite table {{ history }} partition (ledger_batch = {{ number }})
        select /*+ coalesce(1) */ {{ values | join(', ') }}, now()
    {% endcall %}
{% endmacro %}
