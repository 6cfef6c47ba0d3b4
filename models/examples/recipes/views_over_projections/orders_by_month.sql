-- Use this for coarser sums and for quotients: a view over the groups of a projection, which are few. Sums and counts add up
-- to the coarser group. A mean does not, so divide the sum by the count.
with days as (
    select * from {{ collapsing.final(ref('orders_by_day_projection')) }}
)

select
    cast(date_trunc('month', ordered_on) as date) as order_month,
    sum(orders) as orders,
    sum(amount) as amount,
    round(sum(amount) / sum(orders), 2) as amount_per_order
from days
group by cast(date_trunc('month', ordered_on) as date)
