{{ config(meta={'collapsing': {
    'group_by': ['customer_id'],
    'measures': {'orders': 'count(*)', 'amount': 'sum(amount)'}
}}) }}

{{ collapsing.projection(ref('orders_ledger')) }}
