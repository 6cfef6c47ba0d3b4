{% macro history(ledger) %}
    {% if not collapsing._knows_models() %}{{ return(ledger) }}{% endif %}
    {% do collapsing._asked_ledger('history', ledger) %}
    {% set counts = 'map<string,bigint>' %}
    {{ return(collapsing._from_notes(ledger, 'commit', [
        {'name': 'batch', 'dtype': 'int', 'sql': 'batch'},
        {'name': 'act', 'dtype': 'string', 'sql': 'act'},
        {'name': 'run_id', 'dtype': 'string', 'sql': 'run_id'},
        {'name': 'started_at', 'dtype': 'timestamp', 'sql': 'started_at'},
        {'name': 'blocks', 'dtype': 'bigint', 'sql': 'coalesce(blocks, 0)'},
        {'name': 'rows_read', 'dtype': 'bigint', 'sql': 'coalesce(rows_read, 0)'},
        {'name': 'decisions', 'dtype': counts, 'sql': "coalesce(decisions, from_json('{}', '" ~ counts ~ "'))"},
        {'name': 'states', 'dtype': 'bigint', 'sql': 'states'},
        {'name': 'cancels', 'dtype': 'bigint', 'sql': 'cancels'},
        {'name': 'tombstones', 'dtype': 'bigint', 'sql': 'tombstones'}
    ])) }}
{% endmacro %}
