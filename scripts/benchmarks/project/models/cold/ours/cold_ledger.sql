{{ config(file_format=target.name, meta={'collapsing': {'key': 'id', 'version': 'version', 'block': 'block'}}) }}
{{ collapsing.ledger(ref('stg_cold')) }}
