{{ config(materialized='view') }}
select
    cast(cast(id as decimal(20, 2)) / 4 as decimal(20, 2)) as price,
    timestamp '2026-01-01 10:00:00' + make_interval(0, 0, 0, 0, id) as at,
    version,
    amount,
    block
from {{ collapsing_check.check_table('arrived') }}
where not is_deleted and tenant = 'north'
