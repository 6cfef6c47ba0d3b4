{% macro history(ledger) %}
    {% do return(ledger) if not collapsing._knows_models() %}
    {% do collapsing._asked_ledger('history', ledger) %}
    {{ return(collapsing._history_of(ledger)) }}
{% endmacro %}


{# Returns a subquery of the history of one table of a ledger. #}
{% macro _history_of(ledger) %}
    {% do return(collapsing._no_rows(collapsing._history_columns()))
        if load_relation(collapsing._beside(ledger, 'manifest')) is none %}
    {% set names = collapsing._history_columns() | map(attribute='name') | reject('equalto', 'batch') %}
    {{ return(
        '(select ledger_batch as batch, ' ~ collapsing._column_list(names) ~ ' from ' ~ collapsing._history_rows(ledger) ~ ')'
    ) }}
{% endmacro %}


{# Returns the columns of what history gives, [{name, dtype}]. #}
{% macro _history_columns() %}
    {% set columns = [] %}
    {% for name, dtype in {
        'batch': 'int', 'blocks': 'bigint', 'rows_read': 'bigint', 'decisions': 'map<string, bigint>', 'states': 'bigint',
        'cancels': 'bigint', 'tombstones': 'bigint', 'undoes': 'int', 'seconds': 'double', 'run_id': 'string', 'finished_at': 'timestamp'
    }.items() %}
        {% do columns.append({'name': name, 'dtype': dtype}) %}
    {% endfor %}
    {{ return(columns) }}
{% endmacro %}
