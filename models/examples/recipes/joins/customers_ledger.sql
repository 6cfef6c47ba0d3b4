{{ config(meta={'collapsing': {
    'key': 'customer_id',
    'version': 'changed_at',
    'is_deleted': 'is_deleted',
    'block': '_block',
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('customers_stage')) }}
