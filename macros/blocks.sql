{% macro blocks(ledger) %}
    {% if not collapsing._knows_models() %}{{ return(ledger) }}{% endif %}
    {% set node = collapsing._asked_ledger('blocks', ledger) %}
    {% if not collapsing._ledger_settings(node).block %}
        {% do collapsing._raise_setting(
            node.name, 'block', 'the column with the block token, for blocks to tell what was folded', 'nothing'
        ) %}
    {% endif %}
    {{ return(collapsing._from_notes(ledger, 'block', [
        {'name': 'block', 'dtype': 'string', 'sql': 'ledger_block'},
        {'name': 'batch', 'dtype': 'int', 'sql': 'batch'},
        {'name': 'rows_read', 'dtype': 'bigint', 'sql': '`rows`'}
    ])) }}
{% endmacro %}
