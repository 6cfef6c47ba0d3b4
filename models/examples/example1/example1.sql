{{ config(meta={'collapsing': {
    'engine': 'deduplicating',
    'key': 'id',
    'order_by': 'position',
    'block': '_block'
}}) }}

{{ collapsing.ledger(ref('example1_stage')) }}
