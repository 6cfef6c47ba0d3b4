{{ config(meta={'collapsing': {
    'group_by': {
        'carrier': 'carrier',
        'flight_month': "cast(date_trunc('month', scheduled_at) as date)"
    },
    'measures': {
        'flights': 'count(*)',
        'departed': 'count(dep_delay)',
        'arrived': 'count(arr_delay)',
        'diverted': "count(case when event = 'diverted' then 1 end)",
        'late': 'count(case when arr_delay > 15 then 1 end)',
        'departure_delay': 'sum(dep_delay)',
        'arrival_delay': 'sum(arr_delay)',
        'distance': 'sum(distance)'
    }
}}) }}

{{ collapsing.projection(ref('flights')) }}
