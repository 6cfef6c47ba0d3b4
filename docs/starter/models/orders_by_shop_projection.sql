{{ config(meta={'collapsing': {
    'group_by': ['shop'],
    'measures': {'orders': 'count(*)', 'amount': 'sum(amount)'}
}}) }}

{{ collapsing.projection(ref('orders_ledger')) }}
