{{ config(materialized='table', file_format=target.name) }}
select
    dim1,
    count(*) as n,
    sum(metric1) as metric1,
    sum(metric2) as metric2
from {{ ref('merged') }}
group by dim1
