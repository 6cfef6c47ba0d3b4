-- Use this for single rows with columns of another table: a view over two finals, right as soon as either ledger has run.
with orders as (
    select * from {{ ref('orders') }}
),

customers as (
    select * from {{ ref('customers') }}
)

select
    orders.order_id,
    orders.amount,
    orders.ordered_on,
    orders.customer_id,
    customers.name,
    customers.country
from orders
left join customers on orders.customer_id = customers.customer_id
