{{ config(meta={'collapsing': {
    'group_by': ['manufacturer'],
    'measures': {
        'flights': 'count(*)',
        'arrived': 'count(arr_delay)',
        'late': 'count(case when arr_delay > 15 then 1 end)',
        'arrival_delay': 'sum(arr_delay)',
        'seats': 'sum(seats)'
    }
}}) }}

{{ collapsing.projection(ref('flights_with_aircraft')) }}
