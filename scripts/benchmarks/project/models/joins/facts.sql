{{ config(file_format=target.name, meta={'collapsing': {
    'key': 'id', 'version': 'version', 'is_deleted': 'is_deleted', 'block': 'load'}}) }}
{{ collapsing.ledger(ref('stg_facts')) }}
