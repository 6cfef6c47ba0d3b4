{{ config(meta={'collapsing': {
    'group_by': ['ordered_on'],
    'measures': {'orders': 'count(*)', 'amount': 'sum(amount)'}
}}) }}

{{ collapsing.projection(ref('orders_ledger')) }}
