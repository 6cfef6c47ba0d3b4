{{ config(meta={'collapsing': {
    'group_by': {
        'origin': 'origin',
        'departure_hour': "date_trunc('hour', scheduled_at)"
    },
    'measures': {
        'flights': 'count(*)',
        'departed': 'count(dep_delay)',
        'departure_delay': 'sum(dep_delay)',
        'mean_departure_delay': 'avg(dep_delay)'
    }
}}) }}

{{ collapsing.projection(ref('flights_ledger')) }}
