{% macro rejects(ledger) %}
    {% if not execute %}
        {{ return(ledger) }}
    {% endif %}
    {% set node = collapsing._asked_ledger('rejects', ledger) %}
    {% set rejects = load_relation(collapsing._rejects_relation(ledger)) %}
    {% set manifest = load_relation(collapsing._manifest_relation(ledger)) %}
    {% if rejects is none or manifest is none %}
        {% set own = [{'name': 'ledger_reason', 'dtype': 'string'}, {'name': 'ledger_block', 'dtype': 'string'},
            {'name': 'ledger_batch', 'dtype': 'int'}] %}
        {% set columns = collapsing._columns_read_by(node) + own %}
        {{ return('(select ' ~ collapsing._renamed_rejects(columns) ~ ' from ' ~ collapsing._no_rows(columns) ~ ')') }}
    {% endif %}
    {{ return(
        '(select ' ~ collapsing._renamed_rejects(collapsing._describe(rejects).columns) ~ ' from ' ~ rejects
        ~ ' where ' ~ collapsing._is_committed_reject(ledger) ~ ')'
    ) }}
{% endmacro %}


{#
    Returns SQL that is true for the rejects that count: of a committed batch, and not of one before a full refresh, of which the manifest
    keeps the history and no block.
#}
{% macro _is_committed_reject(ledger) %}
    {% set committed = collapsing._committed_manifest(ledger) %}
    {{ return('ledger_batch in (select planned_in from ' ~ committed ~ ' where block is not null)') }}
{% endmacro %}


{#
    Returns the columns of rejects for a select: those of the stage, then `reason`, `block` and `batch`. If the stage has a column of one of
    these names, ours keeps the name ledger_reason, ledger_block or ledger_batch.
#}
{% macro _renamed_rejects(columns) %}
    {% set names = columns | map(attribute='name') | list %}
    {% set staged, selected = names | reject('in', ['ledger_reason', 'ledger_block', 'ledger_batch']) | list, [] %}
    {% for name in staged %}
        {% do selected.append(adapter.quote(name)) %}
    {% endfor %}
    {% for short in ['reason', 'block', 'batch'] %}
        {% do selected.append('ledger_' ~ short ~ (' as ' ~ short if short not in staged | map('lower') | list else '')) %}
    {% endfor %}
    {{ return(selected | join(', ')) }}
{% endmacro %}


{# Returns the columns of the only relation that a ledger reads, its stage, [{name, dtype}]; none if they are not known yet. #}
{% macro _columns_read_by(node) %}
    {% set nodes = collapsing._stages_of(node) %}
    {% set stage = adapter.get_relation(nodes[0].database, nodes[0].schema, nodes[0].alias or nodes[0].identifier)
        if nodes | length == 1 else none %}
    {{ return(collapsing._columns_of_query('select * from ' ~ stage) if stage is not none else []) }}
{% endmacro %}
