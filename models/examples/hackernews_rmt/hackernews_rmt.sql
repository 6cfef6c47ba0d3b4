{{ config(meta={'collapsing': {
    'engine': 'replacing',
    'key': ['author', 'id'],
    'order_by': 'position',
    'block': '_block'
}}) }}

{{ collapsing.ledger(ref('hackernews_rmt_stage')) }}
