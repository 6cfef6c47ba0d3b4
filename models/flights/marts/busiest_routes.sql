with routes as (
    select * from {{ ref('flights_by_route') }}
)

select
    origin,
    dest,
    flights,
    cast(distance / flights as int) as miles,
    cast(round(mean_air_time) as int) as mean_air_time,
    round(mean_arrival_delay, 1) as mean_arrival_delay
from routes
order by flights desc
