{{ config(meta={'collapsing': {
    'group_by': ['tailnum'],
    'measures': {
        'flights': 'count(*)',
        'arrived': 'count(arr_delay)',
        'late': 'count_if(arr_delay > 15)',
        'arrival_delay': 'sum(arr_delay)'
    }
}}) }}

{{ collapsing.projection(ref('flights_ledger')) }}
