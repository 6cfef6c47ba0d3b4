{{ config(meta={'collapsing': {
    'engine': 'versioned_collapsing',
    'input': 'signed',
    'key': 'UserID',
    'version': 'Version',
    'sign': 'Sign',
    'block': '_block'
}}) }}

{{ collapsing.ledger(ref('uact_versioned_stage')) }}
