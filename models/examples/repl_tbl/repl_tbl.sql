{{ config(meta={'collapsing': {
    'engine': 'replacing',
    'key': 'key',
    'version': 'ts',
    'block': '_block',
    'optimize_after': 100
}}) }}

{{ collapsing.ledger(ref('repl_tbl_stage')) }}
