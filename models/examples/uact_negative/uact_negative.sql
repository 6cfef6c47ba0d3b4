{{ config(meta={'collapsing': {
    'engine': 'collapsing',
    'input': 'signed',
    'key': 'UserID',
    'sign': 'Sign',
    'order_by': 'position',
    'block': '_block',
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('uact_negative_stage')) }}
