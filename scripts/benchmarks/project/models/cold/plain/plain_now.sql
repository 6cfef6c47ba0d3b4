{{ config(materialized='view') }}
select
    id,
    version,
    amount
from (
    select
        *,
        row_number() over (partition by id order by version desc) as place
    from {{ ref('plain_appended') }}
)
where place = 1
