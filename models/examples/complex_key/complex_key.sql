{{ config(meta={'collapsing': {
    'engine': 'versioned_collapsing',
    'key': ['tenant_id', 'id'],
    'version': '_version',
    'sign': 'sign',
    'deletes': 'unversioned',
    'block': '_block',
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('complex_key_stage')) }}
