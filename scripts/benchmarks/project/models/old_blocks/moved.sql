{{ config(meta={'collapsing': {'key': 'id', 'version': 'version', 'block': 'block'}}) }}
{{ collapsing.ledger(ref('stg_moved')) }}
