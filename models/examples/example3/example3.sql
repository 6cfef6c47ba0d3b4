{{ config(meta={'collapsing': {
    'engine': 'versioned_collapsing',
    'key': 'id',
    'version': '_version',
    'sign': 'sign',
    'deletes': 'unversioned',
    'block': '_block'
}}) }}

{{ collapsing.ledger(ref('example3_stage')) }}
