-- The groups are what the original table gives when it is joined with the register at the end, and aggregated.

with actual as (
    select
        manufacturer,
        flights,
        arrived,
        late,
        arrival_delay,
        seats
    from {{ ref('flights_by_manufacturer') }}
),

expected as (
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
