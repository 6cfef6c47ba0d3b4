{{ config(meta={'collapsing': {
    'group_by': {
        'carrier': 'carrier',
        'flight_month': "cast(date_trunc('month', scheduled_at) as date)"
    },
    'measures': {
        'flights': 'count(*)',
        'departed': 'count(dep_delay)',
        'arrived': 'count(arr_delay)',
        'diverted': "count_if(event = 'diverted')",
        'late': 'count_if(arr_delay > 15)',
        'departure_delay': 'sum(dep_delay)',
        'arrival_delay': 'sum(arr_delay)',
        'distance': 'sum(distance)'
    }
}}) }}

{{ collapsing.projection(ref('flights_ledger')) }}
