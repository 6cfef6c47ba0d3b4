{{ config(materialized='view') }}
-- ClickHouse's argMax
select
    id,
    max(ts) as ts,
    max_by(amount, ts) as amount,
    max_by(payload, ts) as payload
from {{ source('staged', 'measured') }}
group by id
