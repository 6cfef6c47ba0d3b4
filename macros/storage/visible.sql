{#
    What readers see of a ledger or a projection: the compacted batch -c, and the batches after c. No number here is taken
    from the data, so a view never goes stale.

    On plain parquet each scan lists the partitions by itself. While Spark plans a query, it lists those of a subquery with a
    condition on ledger_batch first, and those of scans with one right after it. So c is found before the rows, and what is
    visible under c keeps its files until the next optimize.
#}


{# Returns SQL for c. On plain parquet the batches -f and f have no rows: until a table is compacted, c is 0 here. #}
{% macro _compacted_of(relation) -%}
(select -coalesce(min(ledger_batch), 0) from {{ collapsing._plain(relation) }} where ledger_batch <= 0)
{%- endmacro %}


{#
    Returns a subquery of the visible rows of a ledger or a projection, notes included: a batch is above c, the compacted one
    at it. c is named once, for in a second subquery Spark could find another one.
#}
{% macro _visible(relation) -%}
(
    select *
    from {{ relation }}
    where
        ledger_batch is not null
        and sign(abs(ledger_batch) - {{ collapsing._compacted_of(relation) }}) = if(ledger_batch > 0, 1, 0)
)
{%- endmacro %}


{# Returns a subquery of what is visible: rows of a projection, or data rows of a ledger, all or up to the batch `as_of`. #}
{% macro _visible_rows(relation, as_of=none) -%}
(
    select *
    from {{ collapsing._visible(relation) | indent(4) }}
    where
        {{ 'true' if collapsing._is_projection(collapsing._model_of(relation)) else 'ledger_note is null' }}
        {%- if as_of is not none %}
        {%- set gone = ' has no state as_of=' ~ as_of ~ ' any more: it has been optimized or rebuilt since' %}
        and ledger_batch <= {{ as_of }}
        and {{ collapsing._unless_compacted(relation, as_of, relation.identifier ~ gone) | indent(8) }}
        {%- endif %}
)
{%- endmacro %}


{#
    Returns SQL that is true while a ledger has the state after the batch `number`, and stops a view that was made before the
    ledger was compacted beyond it or created again. Until a table is compacted, c is the number before its first batch, which
    always has rows.
#}
{% macro _unless_compacted(ledger, number, message) -%}
(
    select if(greatest(-min(ledger_batch), min(ledger_batch) - 1) > {{ number }}, {{ collapsing._raise_in_sql(message) }}, true)
    from {{ collapsing._plain(ledger) }}
)
{%- endmacro %}
