{{ config(meta={'collapsing': {'engine': 'replacing', 'key': 'id', 'version': 'ts', 'block': 'load'}}) }}
{{ collapsing.ledger(source('staged', 'measured')) }}
