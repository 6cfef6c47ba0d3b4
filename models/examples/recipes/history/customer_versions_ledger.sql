{{ config(meta={'collapsing': {
    'engine': 'deduplicating',
    'key': ['customer_id', 'changed_at'],
    'block': '_block',
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('customers_stage')) }}
