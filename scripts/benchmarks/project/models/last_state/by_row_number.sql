{{ config(materialized='view') }}
-- LIMIT 1 BY
select
    id,
    ts,
    amount,
    payload
from (
    select
        *,
        row_number() over (partition by id order by ts desc) as place
    from {{ source('staged', 'measured') }}
)
where place = 1
