-- Sums by aircraft, joined with the register as it is now: when an aircraft changes, nothing of the flights is computed again.
with flights as (
    select * from {{ collapsing.final(ref('flights_by_tailnum_projection')) }}
),

aircraft as (
    select * from {{ ref('aircraft') }}
)

select
    aircraft.manufacturer,
    sum(flights.flights) as flights,
    sum(flights.arrived) as arrived,
    sum(flights.late) as late,
    sum(flights.arrival_delay) as arrival_delay,
    sum(flights.flights * aircraft.seats) as seats
from flights
left join aircraft on flights.tailnum = aircraft.tailnum
group by aircraft.manufacturer
