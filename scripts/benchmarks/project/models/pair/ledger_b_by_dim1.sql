{{ config(file_format=target.name, meta={'collapsing': {
    'group_by': ['dim1'], 'measures': {'n': 'count(*)', 'metric1': 'sum(metric1)', 'metric2': 'sum(metric2)'}}}) }}
{{ collapsing.projection(ref('ledger_b')) }}
