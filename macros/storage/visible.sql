{#
    Returns what can stand behind `from` for the rows of a ledger or projection that are visible, those up to the batch `as_of` or
    all: its base and the batches after it. On parquet the base may stand beside what it covers, which must be skipped. The base
    is read from the rows themselves, so that a view over this never goes stale.
#}
{% macro _visible_rows(relation, as_of=none) %}
    {% set base = collapsing._base_of(relation) %}
    {% set conditions = ['true'] if collapsing._is_subquery(relation) else [] %}
    {% if collapsing._is_listed_by_scan(relation) %}
        {% do conditions.append(
            collapsing._unless_moved(relation, base, '(ledger_batch = ' ~ base ~ ' or ledger_batch > -' ~ base ~ ')')
        ) %}
    {% endif %}
    {% if as_of is not none %}
        {% do conditions.append('ledger_batch <= ' ~ collapsing._unless_gone(relation, as_of)) %}
    {% endif %}
    {{ return('(select * from ' ~ relation ~ ' where ' ~ conditions | join(' and ') ~ ')' if conditions else relation | string) }}
{% endmacro %}


{# Returns whether a relation is a table of plain parquet, whose batches each scan finds by itself. #}
{% macro _is_listed_by_scan(relation) %}
    {{ return(not collapsing._is_subquery(relation) and not collapsing._has_log(relation)) }}
{% endmacro %}


{#
    Returns a condition on rows of a table of plain parquet, but stops the query where the ledger was optimized while it was being
    planned: batches may be gone then that the older `base` does not stand for. A projection still has them until its partials are
    merged again.
#}
{% macro _unless_moved(relation, base, condition) %}
    {% if collapsing._kind_if_any(collapsing._model_of(relation)) == 'projection' %}
        {{ return(condition) }}
    {% endif %}
    {% set moved = collapsing._text_literal(
        'collapsing: ' ~ relation.identifier ~ ' was optimized while this query was being planned: run it again'
    ) %}
    {{ return('if(ledger_batch < ' ~ base ~ ', raise_error(' ~ moved ~ '), ' ~ condition ~ ')') }}
{% endmacro %}


{# Returns SQL for the batch `as_of`; stops a view that was made before the table was optimized, or built anew, at a later one. #}
{% macro _unless_gone(relation, as_of) %}
    {% set gone = collapsing._text_literal(
        'collapsing: ' ~ relation.identifier ~ ' has no state as_of=' ~ as_of ~ ' any more: it has been optimized or rebuilt since'
    ) %}
    {% set oldest = '(select coalesce(abs(min(ledger_batch)), 0) from ' ~ collapsing._named(relation) ~ ')' %}
    {{ return('if(' ~ oldest ~ ' > ' ~ [as_of, 1] | max ~ ', raise_error(' ~ gone ~ '), ' ~ as_of ~ ')') }}
{% endmacro %}


{# Returns SQL for the number of the base of a ledger or projection, which is below 0; 0 where there is none. #}
{% macro _base_of(relation) %}
    {{ return('(select coalesce(min(ledger_batch), 0) from ' ~ collapsing._named(relation) ~ ' where ledger_batch < 0)') }}
{% endmacro %}


{#
    Returns CTEs for a query that reads the visible rows more than once: `later`, those of batches after the base, and `visible`, all
    that _visible_rows returns, or with base_only `base`, the others.

    On plain parquet every scan lists the table's partitions by itself, and none may take for newest what another has not seen. So
    base and newest batch are asked for once, as columns of one CTE: Spark copies it to where it stands, but runs a subquery of
    it once. It lists for subqueries first, then for the scan of `later`, whose size so decides how it is joined, and for the
    other when the query runs. A `later` that has missed batches since an optimize therefore stops with the other, whose
    condition must not let Spark find one in it that needs no subquery, hence <=>.
#}
{% macro _ctes_of_visible(relation, as_of=none, base_only=false) %}
    {%- if not collapsing._is_listed_by_scan(relation) -%}
    visible as (
        select * from {{ collapsing._visible_rows(relation, as_of) }}
    ),
    {%- if base_only %}
    base as (
        select * from visible where ledger_batch < 0
    ),
    {%- endif %}
    later as (
        select * from visible where ledger_batch > 0
    )
    {%- else -%}
    {%- set base = collapsing._base_of(relation) %}
    {%- set newest = '(select coalesce(max(ledger_batch), 0) from ' ~ collapsing._named(relation) ~ ' where ledger_batch > 0)' %}
    {%- if as_of is not none %}
        {%- set newest = 'least(' ~ newest ~ ', ' ~ collapsing._unless_gone(relation, as_of) ~ ')' %}
    {%- endif %}
    {%- set is_in = 'ledger_batch <=> ledger_base' if base_only
        else '(ledger_batch = ledger_base or ledger_batch > -ledger_base)' -%}
    bounded as (
        select
            *,
            {{ base }} as ledger_base,
            {{ newest }} as ledger_newest
        from {{ relation }}
    ),
    {{ 'base' if base_only else 'visible' }} as (
        select *
        from bounded
        where {{ collapsing._unless_moved(relation, 'ledger_base', is_in ~ ' and ledger_batch <= ledger_newest') }}
    ),
    later as (
        select *
        from bounded
        where ledger_batch > 0 and ledger_batch > -ledger_base and ledger_batch <= ledger_newest
    )
    {%- endif %}
{%- endmacro %}
