{{ config(meta={'collapsing': {
    'key': 'tailnum',
    'version': 'changed_at',
    'is_deleted': 'is_removed',
    'block': '_block'
}}) }}

{{ collapsing.ledger(ref('stg_aircraft_events')) }}
