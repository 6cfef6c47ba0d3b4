{{ config(file_format=target.name, meta={'collapsing': {'key': 'id', 'version': 'version', 'block': 'load'}}) }}
{{ collapsing.ledger(source('staged', 'dimension_events')) }}
