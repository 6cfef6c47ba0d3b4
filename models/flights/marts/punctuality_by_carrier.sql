with months as (
    select * from {{ ref('flights_by_carrier_month') }}
),

airlines as (
    select * from {{ ref('airlines') }}
),

carriers as (
    select
        carrier,
        sum(flights) as flights,
        sum(diverted) as diverted,
        round(100 * sum(late) / sum(arrived), 1) as late_percent,
        round(sum(departure_delay) / sum(departed), 1) as mean_departure_delay,
        round(sum(arrival_delay) / sum(arrived), 1) as mean_arrival_delay
    from months
    group by carrier
)

select
    carriers.carrier,
    airlines.name as airline,
    carriers.flights,
    carriers.diverted,
    carriers.late_percent,
    carriers.mean_departure_delay,
    carriers.mean_arrival_delay
from carriers
left join airlines on carriers.carrier = airlines.carrier
order by late_percent
