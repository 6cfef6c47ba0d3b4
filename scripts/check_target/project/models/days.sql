{{ config(meta={'collapsing': {'engine': 'replacing', 'key': ['price', 'at'], 'version': 'version', 'block': 'block'}}) }}
{{ collapsing.ledger(ref('stage_days')) }}
