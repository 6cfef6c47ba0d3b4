{{ config(materialized='view') }}
select
    *,
    id div 100 as dimension_id
from {{ source('staged', 'events') }}
