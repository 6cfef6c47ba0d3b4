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
