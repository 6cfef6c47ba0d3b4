{{ config(meta={'collapsing': {
    'engine': 'deduplicating',
    'key': 'id',
    'order_by': 'position',
    'block': '_block',
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('example1_stage')) }}
