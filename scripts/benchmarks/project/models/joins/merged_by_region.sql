{{ config(materialized='table', file_format=target.name) }}
select
    dimensions.region,
    count(*) as n,
    sum(facts.metric1) as metric1,
    sum(facts.metric2) as metric2
from {{ ref('merged_facts') }} as facts
left join {{ ref('merged_dimensions') }} as dimensions on facts.dimension_id = dimensions.id
group by dimensions.region
