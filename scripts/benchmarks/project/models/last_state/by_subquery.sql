{{ config(materialized='view') }}
with newest as (
    select
        id,
        max(ts) as ts
    from {{ source('staged', 'measured') }}
    group by id
)

select
    measured.id,
    measured.ts,
    measured.amount,
    measured.payload
from {{ source('staged', 'measured') }} as measured
inner join newest
    on measured.id = newest.id and measured.ts = newest.ts
