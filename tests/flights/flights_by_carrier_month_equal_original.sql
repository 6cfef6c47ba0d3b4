-- The groups are what the original table gives when it is aggregated directly, no more and no less.

with actual as (
    select
        carrier,
        flight_month,
        flights,
        departed,
        arrived,
        diverted,
        late,
        departure_delay,
        arrival_delay,
        distance
    from {{ ref('flights_by_carrier_month') }}
),

expected as (
    select
        carrier,
        cast(date_trunc('month', scheduled_at) as date) as flight_month,
        count(*) as flights,
        count(dep_delay) as departed,
        count(arr_delay) as arrived,
        count_if(diverted) as diverted,
        count_if(arr_delay > 15) as late,
        sum(dep_delay) as departure_delay,
        sum(arr_delay) as arrival_delay,
        sum(distance) as distance
    from {{ ref('stg_flights_2013') }}
    where not cancelled
    group by carrier, cast(date_trunc('month', scheduled_at) as date)
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
