-- The projection's groups are what the original table gives when it is aggregated directly, no more and no less.

with merged as (
    select * from {{ collapsing.final(ref('departures_by_hour')) }}
),

direct as (
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

{{ collapsing.differences('merged', 'direct', [
    'origin', 'departure_hour', 'flights', 'departed', 'departure_delay', 'mean_departure_delay'
]) }}
