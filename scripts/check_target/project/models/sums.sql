{{ config(meta={'collapsing': {
    'group_by': ['tenant'],
    'measures': {'n': 'count(*)', 'amount': 'sum(amount)', 'newest': 'max(version)'}}}) }}
{{ collapsing.projection(ref('orders')) }}
