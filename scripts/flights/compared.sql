-- What each kind of dbt model answers after all of the stream, as how far its sums are off the original table.
-- A row has sign 1 in an answer and -1 in the original, so that signed sums are the errors.
with newest as (
    select
        *,
        row_number() over (partition by carrier, flight, scheduled_at order by _block desc, event_at desc) as place
    from {{ ref('stg_flight_events') }}
),

answers as (
    select 'append' as way, 1 as sign, carrier, scheduled_at, dep_delay, arr_delay, distance
    from {{ ref('stg_flight_events') }} where not is_cancelled
    union all
    select 'merge on the key', 1, carrier, scheduled_at, dep_delay, arr_delay, distance from newest where place = 1 and not is_cancelled
    union all
    select 'collapsing', 1, carrier, scheduled_at, dep_delay, arr_delay, distance from {{ ref('flights') }}
    union all
    select way, -1, carrier, scheduled_at, dep_delay, arr_delay, distance
    from {{ ref('stg_flights_2013') }} lateral view explode(array('append', 'merge on the key', 'collapsing')) as way
    where not cancelled
),

errors as (
    select
        way,
        carrier,
        sum(sign) as flights,
        coalesce(sum(sign * dep_delay), 0) as departure_delay,
        coalesce(sum(sign * distance), 0) as distance,
        coalesce(sum(sign) filter (where arr_delay > 15), 0) as late
    from answers
    group by way, carrier, date_format(scheduled_at, 'yyyy-MM')
)

select
    way,
    sum(flights) as flights,
    sum(departure_delay) as departure_delay,
    sum(late) as late,
    count_if(flights <> 0 or departure_delay <> 0 or distance <> 0 or late <> 0) as wrong_groups,
    count(*) as all_groups
from errors
group by way
order by wrong_groups desc, way
