{% macro history(ledger) %}
    {% if not collapsing._knows_models() %}{{ return(ledger) }}{% endif %}
    {% do collapsing._asked_ledger('history', ledger) %}
    {% set columns = [] %}
    {% for name, dtype in {
        'batch': 'int', 'blocks': 'bigint', 'rows_read': 'bigint', 'decisions': 'map<string, bigint>', 'states': 'bigint',
        'cancels': 'bigint', 'tombstones': 'bigint', 'undoes': 'int', 'seconds': 'double', 'run_id': 'string', 'finished_at': 'timestamp'
    }.items() %}
        {% do columns.append({'name': name, 'dtype': dtype}) %}
    {% endfor %}
    {% if load_relation(collapsing._beside(ledger, 'manifest')) is none %}{{ return(collapsing._no_rows(columns)) }}{% endif %}
    {% set names = columns[1:] | map(attribute='name') | list %}
    {{ return(
        '(select ledger_batch as batch, ' ~ collapsing._column_list(names) ~ ' from ' ~ collapsing._history_rows(ledger) ~ ')'
    ) }}
{% endmacro %}
