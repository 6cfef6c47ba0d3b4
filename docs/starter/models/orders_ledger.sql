{{ config(meta={'collapsing': {
    'key': 'order_id',
    'version': 'updated_at',
    'is_deleted': 'is_deleted',
    'block': '_block'
}}) }}

{{ collapsing.ledger(ref('stg_orders')) }}
