{{ config(meta={'collapsing': {
    'group_by': ['id'], 'measures': {'n': 'count(*)', 'm1': 'sum(metric1)', 'mean': 'avg(metric2)', 'c': 'count(metric2)'}}}) }}
{{ collapsing.projection(ref('example3')) }}
