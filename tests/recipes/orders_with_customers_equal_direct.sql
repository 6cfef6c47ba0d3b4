-- The rows are the live orders, joined with the live customers.

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

customers_events as (
    select
        *,
        row_number() over (partition by customer_id order by changed_at desc, is_deleted desc) as place
    from {{ ref('customers_blocks') }}
    where step <= {{ var('examples_step', 99) }}
),

customers as (
    select * from customers_events
    where place = 1 and is_deleted = 0
),

actual as (
    select
        order_id,
        amount,
        ordered_on,
        customer_id,
        name,
        country
    from {{ ref('orders_with_customers') }}
),

expected as (
    select
        orders.order_id,
        orders.amount,
        orders.ordered_on,
        orders.customer_id,
        customers.name,
        customers.country
    from orders
    left join customers on orders.customer_id = customers.customer_id
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
