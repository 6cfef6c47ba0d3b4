with blocks as (
    select * from {{ ref('orders_blocks') }}
)

select
    order_id,
    customer_id,
    amount,
    ordered_on,
    updated_at,
    is_deleted = 1 as is_deleted,
    step as _block
from blocks
where step <= {{ var('examples_step', 99) }}
