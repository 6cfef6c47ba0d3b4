{{ config(meta={'collapsing': {
    'key': 'product_id',
    'version': 'snapshot_on',
    'is_deleted': 'is_deleted',
    'block': '_block',
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('products_stage')) }}
