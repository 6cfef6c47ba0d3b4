{{ config(file_format=target.name, meta={'collapsing': {
    'key': 'id', 'version': 'version', 'is_deleted': 'is_deleted', 'block': 'load'}}) }}
{{ collapsing.ledger(source('staged', 'events_a')) }}
