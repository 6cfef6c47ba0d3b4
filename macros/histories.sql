{% macro histories(ledgers=none) %}
    {% set is_list = ledgers is sequence and ledgers is not string and ledgers is not mapping %}
    {% set read = ledgers if is_list and ledgers else ['(select 1)'] %}
    {% do return('(select * from ' ~ read | join(' union all select * from ') ~ ')') if not collapsing._knows_models() %}
    {{ collapsing._raise(
        model.name if model is defined else '?', "histories takes a list of relations, such as [ref('orders')]; given: "
        ~ collapsing._shown(ledgers)
    ) if ledgers is not none and not (is_list and ledgers) }}
    {% set names, selects = collapsing._column_list(collapsing._history_columns() | map(attribute='name')), [] %}
    {% set given = ledgers or [] %}
    {% for node in ([] if ledgers else collapsing._asked_models('histories', none, ['ledger'])) %}
        {% do given.append(api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias)) %}
    {% endfor %}
    {% for ledger in given %}
        {% do collapsing._check_relation('histories', ledger) %}
        {% set node = collapsing._model_of(ledger) %}
        {{ collapsing._raise(node.name, 'histories needs ledgers; this is a projection')
            if collapsing._kind_of(node, 'histories') != 'ledger' }}
        {% do collapsing._check_reader_of_shards('histories', node) %}
        {% for table in collapsing._tables_of(ledger, node) if load_relation(table) is not none %}
            {% do selects.append(
                'select ' ~ collapsing._text_literal(node.name) ~ ' as ledger, ' ~ collapsing._text_literal(table.identifier) ~ ' as ledger_table, '
                ~ names ~ ' from ' ~ collapsing._history_of(table)
            ) %}
        {% endfor %}
    {% endfor %}
    {% set named = [{'name': 'ledger', 'dtype': 'string'}, {'name': 'ledger_table', 'dtype': 'string'}] %}
    {{ return(
        '(\n    ' ~ selects | join('\n    union all\n    ') ~ '\n)' if selects else collapsing._no_rows(named + collapsing._history_columns())
    ) }}
{% endmacro %}
