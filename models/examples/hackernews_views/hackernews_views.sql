{{ config(meta={'collapsing': {
    'engine': 'collapsing',
    'input': 'signed',
    'key': ['id', 'author'],
    'sign': 'sign',
    'order_by': 'position',
    'block': '_block',
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('hackernews_views_stage')) }}
