with hours as (
    select * from {{ ref('departures_by_hour') }}
),

hours_of_day as (
    select
        origin,
        hour(departure_hour) as hour_of_day,
        sum(flights) as flights,
        round(sum(flights) / count(distinct cast(departure_hour as date)), 1) as flights_a_day,
        max(flights) as most_flights,
        round(sum(departure_delay) / sum(departed), 1) as mean_departure_delay
    from hours
    group by origin, hour(departure_hour)
)

select * from hours_of_day
order by flights desc
