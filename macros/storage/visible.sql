{#
    Returns what can stand behind `from` for the rows of a ledger or projection that are visible, those up to the batch `as_of` or
    all: its base and the batches after it. On parquet the base may stand beside what it covers, which must be skipped. The base
    is read from the rows themselves, so that a view over this never goes stale.
#}
{% macro _visible_rows(relation, as_of=none) %}
    {% set base = collapsing._base_of(relation) %}
    {% set conditions = ['true'] if collapsing._is_subquery(relation) else [] %}
    {#-
        `ledger_batch = base or ledger_batch > -base`, with the base named once: for a second subquery Spark would list the partitions again,
        and might find another base. So the base is between 1 - ledger_batch and 0, or for a row of a base it is ledger_batch; both
        are one comparison of its distance from the middle.
    -#}
    {% do conditions.append(collapsing._unless_moved(
        relation, base,
        'abs(2 * ' ~ base ~ ' - if(ledger_batch < 0, 2 * ledger_batch, 1 - ledger_batch)) <= if(ledger_batch < 0, 0, ledger_batch - 1)'
    )) if collapsing._is_listed_by_scan(relation) %}
    {% do conditions.append('ledger_batch <= ' ~ collapsing._unless_gone(relation, as_of)) if as_of is not none %}
    {{ return('(select * from ' ~ relation ~ ' where ' ~ conditions | join(' and ') ~ ')' if conditions else relation | string) }}
{% endmacro %}


{# Returns whether a relation is a table of plain parquet, whose batches each scan finds by itself. #}
{% macro _is_listed_by_scan(relation) %}
    {{ return(not collapsing._is_subquery(relation) and not collapsing._has_log(relation)) }}
{% endmacro %}


{#
    Returns a condition on rows of a table of plain parquet, but stops the query where the ledger was optimized while it was being
    planned: batches may be gone then that the older `base` does not stand for. A projection still has them until its batches are
    merged again.
#}
{% macro _unless_moved(relation, base, condition) %}
    {% if collapsing._is_projection(collapsing._model_of(relation)) %}{{ return(condition) }}{% endif %}
    {% set stop = collapsing._raise_in_sql(
        relation.identifier ~ ' was optimized while this query was being planned: run it again'
    ) %}
    {{ return('if(ledger_batch < ' ~ base ~ ', ' ~ stop ~ ', ' ~ condition ~ ')') }}
{% endmacro %}


{#
    Returns a condition on rows of a table of plain parquet, but stops the query where a batch was committed while it was being planned:
    ledger_base and ledger_newest are what its plan has found, and the subqueries here, without a condition, list the partitions when it runs.
#}
{% macro _unless_written(relation, condition) %}
    {% set stop = collapsing._raise_in_sql(
        relation.identifier ~ ' was written while this query was being planned: run it again'
    ) %}
    {% set table = collapsing._plain(relation) %}
    {{ return(
        'if(ledger_base <> (select least(min(ledger_batch), 0) from ' ~ table ~ ') or ledger_newest'
        ~ ' <> (select greatest(max(ledger_batch), 0) from ' ~ table ~ '), ' ~ stop ~ ', ' ~ condition ~ ')'
    ) }}
{% endmacro %}


{# Returns SQL for the batch `as_of`; stops a view that was made before the table was optimized, or built anew, at a later one. #}
{% macro _unless_gone(relation, as_of) %}
    {% set stop = collapsing._raise_in_sql(
        relation.identifier ~ ' has no state as_of=' ~ as_of ~ ' any more: it has been optimized or rebuilt since'
    ) %}
    {#- the state before the first batch is there as long as that is -#}
    {% set is_gone = 'abs(min(ledger_batch)) > ' ~ as_of if as_of else 'min(ledger_batch) <> 1' %}
    {#- within a subquery, which Spark runs even if it skips every file -#}
    {{ return(
        '(select if(coalesce(' ~ is_gone ~ ', false), ' ~ stop ~ ', ' ~ as_of ~ ') from ' ~ collapsing._plain(relation) ~ ')'
    ) }}
{% endmacro %}


{# Returns SQL for the number of the base of a ledger or projection, which is below 0; 0 where there is none. #}
{% macro _base_of(relation) %}
    {{ return('(select coalesce(min(ledger_batch), 0) from ' ~ collapsing._plain(relation) ~ ' where ledger_batch < 0)') }}
{% endmacro %}


{# Returns SQL for the number of the newest batch of a ledger after its base; 0 where there is none. #}
{% macro _newest_of(relation) %}
    {{ return('(select coalesce(max(ledger_batch), 0) from ' ~ collapsing._plain(relation) ~ ' where ledger_batch > 0)') }}
{% endmacro %}


{#
    Returns CTEs for a query that reads the visible rows twice: `visible`, all that _visible_rows returns, and `later`, those of batches
    after the base.

    On plain parquet every scan and every subquery lists the table's partitions by itself, and none may take for newest what another has
    not seen. Spark copies a CTE to each place that names it, and lists anew for a subquery in each copy. So base and newest batch are
    asked for in one place, the columns ledger_base and ledger_newest of `visible`: who joins `later` compares its batches with
    these. Spark lists for subqueries first, then for the scan of `later`, whose size so decides how it is joined, and for the
    other when the query runs. A `later` that has missed batches since an optimize therefore stops with the other.
#}
{% macro _ctes_of_visible(relation, as_of=none) %}
    {%- if not collapsing._is_listed_by_scan(relation) -%}
    visible as (
        select * from {{ collapsing._visible_rows(relation, as_of) }}
    ),
    later as (
        select * from visible where ledger_batch > 0
    )
    {%- else -%}
    {%- set newest = collapsing._newest_of(relation) -%}
    visible as (
        select *
        from (
            select
                *,
                {{ collapsing._base_of(relation) }} as ledger_base,
                {{ newest if as_of is none else 'least(' ~ newest ~ ', ' ~ collapsing._unless_gone(relation, as_of) ~ ')' }} as ledger_newest
            from {{ relation }}
        )
        where {{ collapsing._unless_moved(
            relation, 'ledger_base', '(ledger_batch = ledger_base or ledger_batch > -ledger_base) and ledger_batch <= ledger_newest'
        ) }}
    ),
    later as (
        select *
        from {{ relation }}
        where ledger_batch > 0
    )
    {%- endif %}
{%- endmacro %}


{#
    Returns CTEs for a query that reads the visible rows of a base, `base`, and of the batches after it, `later`, several times each. On
    plain parquet each copy asks for base and newest batch by itself, and the query stops if one of them has found others than there are
    when it runs. The condition of `base` must not let Spark find one in it that needs no subquery, hence <=>.
#}
{% macro _ctes_upon_base(relation, as_of=none) %}
    {%- if not collapsing._is_listed_by_scan(relation) -%}
    {{ collapsing._ctes_of_visible(relation, as_of) }},
    base as (
        select * from visible where ledger_batch < 0
    )
    {%- else -%}
    {%- set upto = 'ledger_batch <= ledger_newest'
        ~ (' and ledger_batch <= ' ~ collapsing._unless_gone(relation, as_of) if as_of is not none) -%}
    bounded as (
        select
            *,
            {{ collapsing._base_of(relation) }} as ledger_base,
            {{ collapsing._newest_of(relation) }} as ledger_newest
        from {{ relation }}
    ),
    base as (
        select *
        from bounded
        where {{ collapsing._unless_moved(
            relation, 'ledger_base', collapsing._unless_written(relation, 'ledger_batch <=> ledger_base and ' ~ upto)
        ) }}
    ),
    later as (
        select *
        from bounded
        where ledger_batch > 0 and ledger_batch > -ledger_base and {{ upto }}
    )
    {%- endif %}
{%- endmacro %}
