{{ config(meta={'collapsing': {
    'key': ['carrier', 'flight', 'scheduled_at'],
    'version': 'event_at',
    'is_deleted': 'is_cancelled',
    'block': '_block',
    'optimize_after': 10
}}) }}

{{ collapsing.ledger(ref('stg_flight_events')) }}
