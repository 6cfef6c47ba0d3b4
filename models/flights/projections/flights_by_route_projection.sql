{{ config(meta={'collapsing': {
    'group_by': ['origin', 'dest'],
    'measures': {
        'flights': 'count(*)',
        'aircraft_known': 'count(tailnum)',
        'distance': 'sum(distance)',
        'mean_air_time': 'avg(air_time)',
        'mean_arrival_delay': 'avg(arr_delay)'
    }
}}) }}

{{ collapsing.projection(ref('flights_ledger')) }}
