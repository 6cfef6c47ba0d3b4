{# Returns the query of the newest event of each key. #}
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
