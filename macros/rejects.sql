{% macro rejects(ledger) %}
    {% if not collapsing._knows_models() %}{{ return(ledger) }}{% endif %}
    {% set node = collapsing._asked_ledger('rejects', ledger) %}
    {% set rejects = load_relation(collapsing._beside(ledger, 'rejects')) %}
    {% if rejects is none or load_relation(collapsing._beside(ledger, 'manifest')) is none %}
        {% set own = [{'name': 'ledger_reason', 'dtype': 'string'}, {'name': 'ledger_block', 'dtype': 'string'},
            {'name': 'ledger_batch', 'dtype': 'int'}] %}
        {% set stage = collapsing._only_stage_of(node) %}
        {% set columns = (collapsing._columns_of_query('select * from ' ~ stage) if stage is not none else []) + own %}
        {{ return('(select ' ~ collapsing._renamed_rejects(columns) ~ ' from ' ~ collapsing._no_rows(columns) ~ ')') }}
    {% endif %}
    {{ return(
        '(select ' ~ collapsing._renamed_rejects(collapsing._describe(rejects).columns) ~ ' from ' ~ rejects
        ~ ' where ' ~ collapsing._sql_is_committed_reject(ledger) ~ ')'
    ) }}
{% endmacro %}


{# Returns SQL that is true for rejects of blocks that count as folded: none of an undone batch, or from before a full refresh. #}
{% macro _sql_is_committed_reject(ledger) %}
    {% set folded = collapsing._folded_blocks(collapsing._committed_manifest(ledger)) %}
    {{ return('ledger_batch in (select batch from ' ~ folded ~ ')') }}
{% endmacro %}


{#
    Returns the columns of rejects for a select: those of the stage, then `reason`, `block` and `batch`. If the stage has a column of one of
    these names, ours keeps the name ledger_reason, ledger_block or ledger_batch.
#}
{% macro _renamed_rejects(columns) %}
    {% set staged = columns | map(attribute='name') | reject('in', ['ledger_reason', 'ledger_block', 'ledger_batch']) | list %}
    {% set selected = [collapsing._column_list(staged)] if staged else [] %}
    {% for short in ['reason', 'block', 'batch'] %}
        {% do selected.append('ledger_' ~ short ~ (' as ' ~ short if short not in staged | map('lower') | list else '')) %}
    {% endfor %}
    {{ return(selected | join(', ')) }}
{% endmacro %}
