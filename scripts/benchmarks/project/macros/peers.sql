{# What stands beside the package in the measures: the usual ways to a current row and to sums, in SQL of their own. #}

{# Gives the query of the events that a model has not read yet: its run is told which load is new, so that it need not look for it. #}
{% macro arrived() %}
select
    id,
    version,
    dim1,
    dim2,
    kind,
    metric1,
    metric2,
    payload,
    is_deleted
from {{ ref('stg_events') }}
{% if is_incremental() -%}
    where load = '{{ var("load") }}'
{%- endif %}
{% endmacro %}


{# Gives the query of the newest event of each key. #}
{% macro newest_of(events) %}
select
    id,
    version,
    dim1,
    dim2,
    kind,
    metric1,
    metric2,
    payload,
    is_deleted
from (
    select
        *,
        row_number() over (partition by id order by version desc) as place
    from {{ events }}
)
where place = 1
{% endmacro %}


{# Gives the query of the sums of live rows by a column. #}
{% macro sums_of(rows, column) %}
select
    {{ column }},
    count(*) as n,
    sum(metric1) as metric1,
    sum(metric2) as metric2
from {{ rows }}
where not is_deleted
group by {{ column }}
{% endmacro %}


{#
    Gives the query of the groups that the newest commit of a Delta table has changed, with their new sums. A group whose rows are all
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
