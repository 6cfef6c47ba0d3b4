{{ config(meta={'collapsing': {
    'engine': 'deduplicating',
    'key': ['customer_id', 'changed_at'],
    'block': '_block'
}}) }}

{{ collapsing.ledger(ref('customers_stage')) }}
