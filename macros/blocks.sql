{% macro blocks(ledger) %}
    {% do return(ledger) if not collapsing._knows_models() %}
    {% set node = collapsing._asked_ledger('blocks', ledger) %}
    {{ collapsing._raise_setting(
        node.name, 'block', 'the column with the block token, for blocks to tell what was folded', 'nothing'
    ) if not collapsing._ledger_settings(node).block }}
    {% do return(collapsing._no_rows([
        {'name': 'block', 'dtype': 'string'}, {'name': 'rows', 'dtype': 'bigint'}, {'name': 'batch', 'dtype': 'int'},
        {'name': 'planned_at', 'dtype': 'timestamp'}, {'name': 'is_unread', 'dtype': 'boolean'}, {'name': 'is_undone', 'dtype': 'boolean'}
    ])) if load_relation(collapsing._beside(ledger, 'manifest')) is none %}
    {{ return(collapsing._folded_blocks(collapsing._committed_manifest(ledger))) }}
{% endmacro %}


{# Returns a subquery of the folded blocks, from a subquery of the rows of the manifest that count. #}
{% macro _folded_blocks(manifest) -%}
(
    with planned as (
        select * from {{ manifest }}
    ),

    -- batches that are taken back: an undo that a redo took back does not count, and a redo is taken back by nothing
    undone as (
        select undo.undoes as batch, bool_or(undo.unread) as is_unread
        from planned as undo
        left anti join planned as redo on redo.undoes = undo.planned_in
        where undo.unread is not null
        group by undo.undoes
    )

    select
        planned.block,
        planned.staged as {{ adapter.quote('rows') }},
        planned.planned_in as batch,
        planned.planned_at,
        coalesce(undone.is_unread, false) as is_unread,
        undone.batch is not null as is_undone
    from planned
    left join undone on planned.planned_in = undone.batch
    where planned.block is not null
)
{%- endmacro %}
