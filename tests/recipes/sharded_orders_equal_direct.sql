-- The rows of both ledgers are the live orders.

with orders_events as (
    select
        *,
        row_number() over (partition by order_id order by updated_at desc, is_deleted desc) as place
    from {{ ref('orders_blocks') }}
    where step <= {{ var('examples_step', 99) }}
),

orders as (
    select * from orders_events
    where place = 1 and is_deleted = 0
),

actual as (
    select
        order_id,
        customer_id,
        amount,
        ordered_on,
        updated_at
    from {{ ref('sharded_orders') }}
),

expected as (
    select
        order_id,
        customer_id,
        amount,
        ordered_on,
        updated_at
    from orders
)

(
    select * from actual
    except all
    select * from expected
)
union all
(
    select * from expected
    except all
    select * from actual
)
