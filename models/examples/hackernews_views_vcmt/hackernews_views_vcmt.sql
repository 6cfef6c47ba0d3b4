{{ config(meta={'collapsing': {
    'engine': 'versioned_collapsing',
    'input': 'signed',
    'key': ['id', 'author'],
    'version': 'version',
    'sign': 'sign',
    'block': '_block',
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('hackernews_views_vcmt_stage')) }}
