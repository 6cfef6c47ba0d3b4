{# Returns the query of the sums of live rows by a column. #}
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
