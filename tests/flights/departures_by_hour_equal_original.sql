-- The groups are what the original table gives when it is aggregated directly, no more and no less.

with actual as (
    select
        origin,
        departure_hour,
        flights,
        departed,
        departure_delay,
        mean_departure_delay
    from {{ ref('departures_by_hour') }}
),

expected as (
    select
        origin,
        date_trunc('hour', scheduled_at) as departure_hour,
        count(*) as flights,
        count(dep_delay) as departed,
        sum(dep_delay) as departure_delay,
        avg(dep_delay) as mean_departure_delay
    from {{ ref('stg_flights_2013') }}
    where not cancelled
    group by origin, date_trunc('hour', scheduled_at)
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
