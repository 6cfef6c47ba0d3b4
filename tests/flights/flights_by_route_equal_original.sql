-- The groups are what the original table gives when it is aggregated directly, no more and no less.

with actual as (
    select
        origin,
        dest,
        flights,
        aircraft_known,
        distance,
        mean_air_time,
        mean_arrival_delay
    from {{ ref('flights_by_route') }}
),

expected as (
    select
        origin,
        dest,
        count(*) as flights,
        count(tailnum) as aircraft_known,
        sum(distance) as distance,
        avg(air_time) as mean_air_time,
        avg(arr_delay) as mean_arrival_delay
    from {{ ref('stg_flights_2013') }}
    where not cancelled
    group by origin, dest
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
