{{ config(meta={'collapsing': {
    'group_by': {'shop': 'id % 1000'},
    'measures': {'orders': 'count(*)', 'amount': 'sum(amount)', 'mean': 'avg(amount)', 'least': 'min(amount)'}}}) }}
{{ collapsing.projection(ref('young')) }}
