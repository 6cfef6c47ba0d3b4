{{ config(file_format=target.name, meta={'collapsing': {
    'group_by': {'place': 'id % 10'}, 'measures': {'n': 'count(*)', 'amount': 'sum(amount)'}}}) }}
{{ collapsing.projection(ref('cold_ledger')) }}
