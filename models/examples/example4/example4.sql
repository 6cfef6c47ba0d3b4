{{ config(meta={'collapsing': {
    'engine': 'versioned_collapsing',
    'key': 'id',
    'version': 'updated_at',
    'sign': 'sign',
    'deletes': 'unversioned',
    'block': '_block',
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('example4_stage')) }}
