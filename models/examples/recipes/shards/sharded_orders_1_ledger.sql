{{ config(meta={'collapsing': {
    'key': 'order_id',
    'version': 'updated_at',
    'is_deleted': 'is_deleted',
    'block': '_block',
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('sharded_orders_1_stage')) }}
