{{ config(meta={'collapsing': {
    'key': 'customer_id',
    'version': 'changed_at',
    'is_deleted': 'is_deleted',
    'block': '_block'
}}) }}

{{ collapsing.ledger(ref('customers_stage')) }}
