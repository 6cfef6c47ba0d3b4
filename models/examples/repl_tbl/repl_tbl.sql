{{ config(meta={'collapsing': {
    'engine': 'replacing',
    'key': 'key',
    'version': 'ts',
    'block': '_block'
}}) }}

{{ collapsing.ledger(ref('repl_tbl_stage')) }}
