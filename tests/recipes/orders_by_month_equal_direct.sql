-- The sums and the mean are those of the live orders.

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
        order_month,
        orders,
        amount,
        amount_per_order
    from {{ ref('orders_by_month') }}
),

expected as (
    select
        cast(date_trunc('month', ordered_on) as date) as order_month,
        count(*) as orders,
        sum(amount) as amount,
        round(avg(amount), 2) as amount_per_order
    from orders
    group by cast(date_trunc('month', ordered_on) as date)
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
