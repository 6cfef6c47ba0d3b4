{{ config(meta={'collapsing': {
    'key': ['carrier', 'flight', 'scheduled_at'],
    'version': 'event_at',
    'is_deleted': 'is_cancelled',
    'block': '_block'
}}) }}

{{ collapsing.ledger(ref('stg_flight_events')) }}
