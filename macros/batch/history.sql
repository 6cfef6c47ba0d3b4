{#
    <ledger>__history has one row per batch of a ledger: what it took, what became of it, what it appended. All of that is known before the
    batch is committed and stands in its manifest, so that nothing has to be written after the commit: this is a view.
        blocks, rows_read   what the batch took; NULL where there is no setting `block`
        decisions           how many of the rows came to what
        states, cancels, tombstones   the rows that it appended
        undoes              the batch that it takes back; else NULL
        seconds             from the start of the model until its rows were about to be appended
        run_id, finished_at the latter when the manifest was written, right before the append
    Creates the view where there is none yet, in a catalog that takes views.
#}
{% macro _create_history(ledger) %}
    {% set history = collapsing._beside(ledger, 'history') %}
    {% if load_relation(history) is none and collapsing._takes_views(ledger) %}
        {% do collapsing._execute(
            'create or replace view ' ~ history ~ ' as\nselect *\nfrom ' ~ collapsing._history_rows(ledger)
        ) %}
        {% do collapsing._add_to_cache(history.incorporate(type='view')) %}
    {% endif %}
{% endmacro %}


{# Returns a subquery of the history of a ledger that has a manifest; without a batch number, it reads tables in every query. #}
{% macro _history_rows(ledger) -%}
(
    select
        blocks, staged as rows_read, decisions, states, cancels, tombstones, undoes, seconds, run_id, planned_at as finished_at,
        planned_in as ledger_batch
    from {{ collapsing._committed_manifest(ledger) | indent(4) }}
    where block is null
)
{%- endmacro %}
