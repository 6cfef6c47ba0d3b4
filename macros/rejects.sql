{% macro rejects(ledger) %}
    {% if not collapsing._knows_models() %}{{ return(ledger) }}{% endif %}
    {% do collapsing._asked_ledger('rejects', ledger) %}
    {{ return(collapsing._from_notes(ledger, 'reject', [
        {'name': 'batch', 'dtype': 'int', 'sql': 'batch'},
        {'name': 'block', 'dtype': 'string', 'sql': 'ledger_block'},
        {'name': 'reason', 'dtype': 'string', 'sql': 'reason'},
        {'name': 'row', 'dtype': 'string', 'sql': '`row`'}
    ])) }}
{% endmacro %}
