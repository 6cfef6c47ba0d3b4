{#
    Returns the query of the groups that the newest commit of a Delta table has changed, with their new sums. A group whose rows are all
    gone stays, with a count of 0.
#}
{% macro kept_from_feed(rows, column) %}
    {{ config(materialized='incremental', incremental_strategy='merge', unique_key=column, file_format=target.name) }}
    {% if not is_incremental() %}
        {{ sums_of(rows, column) }}
    {% else %}
        {%- set newest = run_query('describe history ' ~ rows ~ ' limit 1')[0]['version'] %}
        with changes as (
            select
                {{ column }},
                if(_change_type in ('insert', 'update_postimage'), 1, -1) as direction,
                metric1,
                metric2
            from table_changes('{{ rows }}', {{ newest }}, {{ newest }})
            where not is_deleted
        ),

        summed as (
            select
                {{ column }},
                sum(direction) as n,
                sum(direction * metric1) as metric1,
                sum(direction * metric2) as metric2
            from changes
            group by {{ column }}
        )

        select
            summed.{{ column }},
            summed.n + coalesce(kept.n, 0) as n,
            summed.metric1 + coalesce(kept.metric1, 0) as metric1,
            summed.metric2 + coalesce(kept.metric2, 0) as metric2
        from summed
        left join {{ this }} as kept
            on summed.{{ column }} = kept.{{ column }}
    {% endif %}
{% endmacro %}
