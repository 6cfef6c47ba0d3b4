{{ config(meta={'collapsing': {
    'engine': 'versioned_collapsing',
    'key': 'id',
    'version': '_version',
    'sign': 'sign',
    'deletes': 'unversioned',
    'block': '_block',
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('example3_stage')) }}
