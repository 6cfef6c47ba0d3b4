{% macro changes(ledger, after) %}
    {% if not collapsing._knows_models() %}{{ return(ledger) }}{% endif %}
    {% set node = collapsing._asked_ledger('changes', ledger) %}
    {% if after is not integer or after < 0 %}
        {% do collapsing._raise(
            node.name, "changes needs 'after', the number of the last batch already read (0 for none); given: "
            ~ collapsing._shown(after)
        ) %}
    {% endif %}
    {% set table = collapsing._table(ledger) %}
    {% set gone = 'changes after=' ~ after ~ ' are gone: the ledger was optimized or rebuilt at a later batch' %}
    {% set advice = '. Read it from the beginning (after=0) and rebuild the model that reads it' %}
    {% if table and after > table.last and not flags.EMPTY %}
        {% do collapsing._raise(
            node.name, 'changes cannot continue after batch ' ~ after ~ ': the last batch is ' ~ (table.last or 'none')
        ) %}
    {% elif table and 0 < after < (table.compacted or 0) %}
        {% do collapsing._raise(node.name, gone ~ ', ' ~ table.compacted ~ advice) %}
    {% endif %}
    {{ return(collapsing._rows_after(ledger, table, after, node.name ~ ': ' ~ gone ~ advice)) }}
{% endmacro %}


{# Returns a subquery of the visible data rows of the batches after a number, all for 0; a view says `gone` once they are. #}
{% macro _rows_after(ledger, table, after, gone) -%}
{%- set own = collapsing._system_columns() -%}
{%- set staged = table.columns | map(attribute='name') | reject('in', own) | list if table else [] -%}
(
    select {{ collapsing._column_list(staged + ['ledger_sign', 'ledger_block', 'ledger_batch']) if staged else '*' }}
    from {{ collapsing._visible_rows(ledger) | indent(4) }}
    {%- if after %}
    where ledger_batch > {{ after }} and {{ collapsing._unless_compacted(ledger, after, gone) | indent(4) }}
    {%- endif %}
)
{%- endmacro %}
