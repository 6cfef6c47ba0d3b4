{{ config(meta={'collapsing': {'key': 'id', 'version': 'version', 'block': 'load'}}) }}
{{ collapsing.ledger(source('staged', 'added')) }}
