{{ config(meta={'collapsing': {
    'engine': 'versioned_collapsing',
    'input': 'signed',
    'key': 'UserID',
    'version': 'Version',
    'sign': 'Sign',
    'block': '_block',
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('uact_versioned_stage')) }}
