{#
    Returns the query of the events that a peer's model has not read yet. Its run is told which load is new, so that it need not look for
    it.
#}
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
where {{ "load = '" ~ var("load") ~ "'" if is_incremental() else "true" }}
{% endmacro %}
