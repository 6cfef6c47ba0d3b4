-- The projection's groups are what the original table gives when it is joined with the register at the end, and aggregated.

with merged as (
    select * from {{ collapsing.final(ref('flights_by_manufacturer')) }}
),

direct as (
    select
        aircraft.manufacturer,
        count(*) as flights,
        count(flights.arr_delay) as arrived,
        count_if(flights.arr_delay > 15) as late,
        sum(flights.arr_delay) as arrival_delay,
        sum(aircraft.seats) as seats
    from {{ ref('stg_flights_2013') }} as flights
    left join {{ ref('stg_aircraft_2013') }} as aircraft on flights.tailnum = aircraft.tailnum
    where not flights.cancelled
    group by aircraft.manufacturer
)

{{ collapsing.differences('merged', 'direct', [
    'manufacturer', 'flights', 'arrived', 'late', 'arrival_delay', 'seats'
]) }}
