-- Use this for sums of a large table by columns of a smaller one. The projection sums by the foreign key, and the view joins
-- its few groups with the live rows of the smaller table: when a customer moves, only the ledger of customers has to run.
with orders as (
    select * from {{ collapsing.final(ref('orders_by_customer_projection')) }}
),

customers as (
    select * from {{ ref('customers') }}
)

select
    customers.country,
    sum(orders.orders) as orders,
    sum(orders.amount) as amount
from orders
left join customers on orders.customer_id = customers.customer_id
group by customers.country
