{{ config(meta={'collapsing': {
    'engine': 'replacing',
    'key': ['author', 'id'],
    'order_by': 'position',
    'block': '_block',
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('hackernews_rmt_stage')) }}
