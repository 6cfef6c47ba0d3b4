{#
    What counts in the tables beside a ledger, for SQL that stays in a view: it contains no batch number, and reads the tables in every
    query. A batch of the ledger is committed if the ledger has rows of it or of a later one. A batch without rows, which plain parquet
    registers where no query sees it, is found in the history, which is written after the commit.
#}


{# Returns SQL for the number of the newest batch that a ledger has rows of, or of its base; 0 where it has none. #}
{% macro _newest_with_rows(ledger) %}
    {{ return('(select coalesce(max(abs(ledger_batch)), 0) from ' ~ collapsing._named(ledger) ~ ')') }}
{% endmacro %}


{# Returns SQL that is true for a row of the history about a batch that appended nothing. #}
{% macro _appended_nothing() %}
    {{ return('states + cancels + tombstones = 0') }}
{% endmacro %}


{#
    Returns a subquery of the rows of a ledger's manifest that count, each once: `planned_in`, `block`, `staged`, `undoes`, `unread` and
    `planned_at`. An optimize copies them to the partition of its base before that base is there, hence `distinct`; of what a base stands
    for only its own partition counts, for a full refresh leaves the rest for a moment. Neither do batches count that a ledger of the same
    name had before it was created anew.

    history   the relation of the ledger's history, or none where there is none yet
#}
{% macro _committed_manifest(ledger, history) -%}
{%- set base = collapsing._base_of(ledger) -%}
(
    select distinct planned_in, block, staged, undoes, unread, planned_at
    from {{ collapsing._manifest_relation(ledger) }}
    where
        (planned_in > -{{ base }} or ledger_batch = {{ base }})
        and (
            planned_in <= {{ collapsing._newest_with_rows(ledger) }}
            {%- if history %}
            or planned_in in (select ledger_batch from {{ history }} where {{ collapsing._appended_nothing() }})
            {%- endif %}
        )
        {%- if history %}
        and planned_in > (
            select coalesce(max(ledger_batch), 0)
            from {{ history }}
            where
                not {{ collapsing._appended_nothing() }}
                and ledger_batch < (select min(ledger_batch) from {{ collapsing._named(ledger) }})
        )
        {%- endif %}
)
{%- endmacro %}


{# Returns a subquery without rows that has the columns given, [{name, dtype}]. #}
{% macro _no_rows(columns) %}
    {{ return('(' ~ collapsing._row_of_nulls(columns) ~ ' where false)') }}
{% endmacro %}
