{{ config(meta={'collapsing': {'key': 'id', 'version': 'version', 'block': 'load', 'count_decisions': false}}) }}
{{ collapsing.ledger(ref('stg_sharded')) }}
