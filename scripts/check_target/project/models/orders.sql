{{ config(meta={'collapsing': {
    'key': ['tenant', 'id'], 'version': 'version', 'is_deleted': 'is_deleted', 'block': 'block'}}) }}
{{ collapsing.ledger(ref('stage')) }}
