with manufacturers as (
    select * from {{ ref('flights_by_manufacturer') }}
)

select
    coalesce(manufacturer, 'not in the register') as manufacturer,
    flights,
    cast(round(seats / flights) as int) as mean_seats,
    round(100 * late / nullif(arrived, 0), 1) as late_percent,
    round(arrival_delay / nullif(arrived, 0), 1) as mean_arrival_delay
from manufacturers
order by flights desc
