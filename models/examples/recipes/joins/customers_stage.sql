with blocks as (
    select * from {{ ref('customers_blocks') }}
)

select
    customer_id,
    name,
    country,
    changed_at,
    is_deleted = 1 as is_deleted,
    step as _block
from blocks
where step <= {{ var('examples_step', 99) }}
