-- The projection's groups are what the original table gives when it is aggregated directly, no more and no less.

with merged as (
    select * from {{ collapsing.final(ref('flights_by_route')) }}
),

direct as (
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

{{ collapsing.differences('merged', 'direct', [
    'origin', 'dest', 'flights', 'aircraft_known', 'distance', 'mean_air_time', 'mean_arrival_delay'
]) }}
