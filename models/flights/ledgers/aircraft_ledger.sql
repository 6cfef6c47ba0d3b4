{{ config(meta={'collapsing': {
    'key': 'tailnum',
    'version': 'changed_at',
    'is_deleted': 'is_removed',
    'block': '_block',
    'optimize_after': 10
}}) }}

{{ collapsing.ledger(ref('stg_aircraft_events')) }}
