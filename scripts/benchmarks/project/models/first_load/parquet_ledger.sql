-- plain parquet, in a session of Delta or Iceberg
{{ config(file_format='parquet', meta={'collapsing': {
    'key': 'id', 'version': 'version', 'is_deleted': 'is_deleted', 'block': 'load'}}) }}
{{ collapsing.ledger(ref('stg_events')) }}
