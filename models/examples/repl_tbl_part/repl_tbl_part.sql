{{ config(meta={'collapsing': {
    'engine': 'replacing',
    'key': 'key',
    'order_by': 'position',
    'partition_by': 'part_key',
    'block': '_block',
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('repl_tbl_part_stage')) }}
