-- The live flights are those of the original table that were not cancelled, no more and no less.

with actual as (
    select
        carrier,
        flight,
        scheduled_at,
        origin,
        dest,
        tailnum,
        distance,
        dep_delay,
        arr_delay,
        air_time,
        event = 'diverted' as diverted
    from {{ ref('flights') }}
),

expected as (
    select
        carrier,
        flight,
        scheduled_at,
        origin,
        dest,
        tailnum,
        distance,
        dep_delay,
        arr_delay,
        air_time,
        diverted
    from {{ ref('stg_flights_2013') }}
    where not cancelled
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
