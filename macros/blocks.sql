{% macro blocks(ledger) %}
    {% if not collapsing._knows_models() %}{{ return(ledger) }}{% endif %}
    {% set node = collapsing._asked_ledger('blocks', ledger) %}
    {% if not collapsing._ledger_settings(node).block %}
        {% do collapsing._raise_setting(
            node.name, 'block', 'the column with the block token, for blocks to tell what was folded', 'nothing'
        ) %}
    {% endif %}
    {% if load_relation(collapsing._beside(ledger, 'manifest')) is none %}{{ return(collapsing._no_rows([
        {'name': 'block', 'dtype': 'string'}, {'name': 'batch', 'dtype': 'int'}, {'name': 'rows_read', 'dtype': 'bigint'}
    ])) }}{% endif %}
    {{ return(collapsing._folded_blocks(collapsing._committed_manifest(ledger))) }}
{% endmacro %}


{# Returns a subquery of the blocks that count as folded, from a subquery of the rows of the manifest that count. #}
{% macro _folded_blocks(manifest) -%}
(
    with planned as (
        select * from {{ manifest }}
    ),

    undone as (
        select undoes as batch
        from planned
        where undoes is not null
    )

    select
        planned.block,
        planned.planned_in as batch,
        planned.staged as rows_read
    from planned
    left anti join undone on planned.planned_in = undone.batch
    where planned.block is not null
)
{%- endmacro %}
