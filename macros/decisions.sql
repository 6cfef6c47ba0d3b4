{% macro decisions(ledger, stage) %}
    {% if not collapsing._knows_models() %}{{ return(stage) }}{% endif %}
    {% set node = collapsing._asked_ledger('decisions', ledger) %}
    {% do collapsing._check_relation('decisions', stage) %}
    {% do collapsing._check_not_ephemeral('decisions', node, stage) %}
    {% set settings = collapsing._ledger_settings(node) %}
    {% set columns = collapsing._stage_columns('select * from ' ~ stage, settings) %}
    {% if 'decision' in columns | map(attribute='name') | map('lower') | list %}
        {% do collapsing._raise(
            node.name, "the stage's column 'decision' has the name of what decisions adds: give it another name in a view"
        ) %}
    {% endif %}
    {{ return(collapsing._decided_rows(stage, ledger, settings, columns, decision='decision')) }}
{% endmacro %}


{#
    Returns a subquery of every staged row with the batch that folded it and what became of it: the rows of each batch are
    decided about by the same SQL as in the fold, beside what the ledger had seen of their key before that batch. `decision`
    names that column.
#}
{% macro _decided_rows(stage, ledger, settings, columns, decision='ledger_decision') %}
{%- set table = collapsing._table(ledger) -%}
{%- set names = columns | map(attribute='name') | list -%}
(
with

{{ collapsing._staged_rows(stage, ledger, table, settings, columns) }},

{% if collapsing._engine(settings).looks_up -%}
{%- set touched = collapsing._touched_before(ledger, table, settings, columns) if table and settings.block else none -%}
{{ collapsing._classified('select * from staged where ledger_reason is null', touched, settings, columns, by_batch=true) }}
{%- else -%}
-- rows that carry their own sign all apply
classified as (
    select
        *,
        'applied' as ledger_decision
    from staged
    where ledger_reason is null
)
{%- endif %}

select
    {{ collapsing._select_list(names, indent=4) }},
    ledger_batch,
    ledger_decision as {{ decision }}
from classified
union all
select
    {{ collapsing._select_list(names, indent=4) }},
    ledger_batch,
    ledger_reason as {{ decision }}
from staged
where ledger_reason is not null
)
{%- endmacro %}


{#
    Returns the CTE `staged`: every staged row with the batch that folded it, and with a reason if nothing is decided about
    it. Without block tokens all rows count as one batch.
#}
{% macro _staged_rows(stage, ledger, table, settings, columns) -%}
{%- set is_unread = 'blocks.ledger_batch is null' if settings.block or not table or table.compacted is none else 'false' -%}
{%- set of_blocks = [{'name': 'ledger_block', 'dtype': 'string'}, {'name': 'ledger_batch', 'dtype': 'int'}] -%}
-- every staged row with the batch that folded it
staged as (
    select
        {{ collapsing._select_list(columns | map(attribute='name'), of='staged') }},
        blocks.ledger_batch,
        {{ collapsing._sql_is_delete(settings) }} as ledger_delete,
        {{ collapsing._arrival(settings, of='staged') }} as ledger_arrival,
        coalesce({{ collapsing._bad_reason(settings) }}, if({{ is_unread }}, 'unread', null)) as ledger_reason
    from {{ collapsing._aliased(stage, 'staged') }}
    left join (
        {%- if table %}
        select ledger_block, ledger_batch
        from {{ collapsing._visible_notes(ledger) | indent(8) }}
        where kind = 'block'
        {%- else %}
        {{ collapsing._row_of_nulls(of_blocks) }} where false
        {%- endif %}
    ) as blocks
        on {{ collapsing._token(settings, columns, of='staged') }} = blocks.ledger_block
)
{%- endmacro %}


{#
    Returns the rows that a ledger had of each key of the CTE `unread` before each batch that took a row of it. Columns that
    are new in the stage, which no run has added yet, are NULL in them, as they will be then.
#}
{% macro _touched_before(ledger, table, settings, columns) -%}
{%- set stored = table.columns | map(attribute='name') | map('lower') | list -%}
select
        stored.*,
        {%- for column in collapsing._kept_columns(columns, settings) if column.name | lower not in stored %}
        cast(null as {{ collapsing._ddl_type(column.dtype) }}) as {{ adapter.quote(column.name) }},
        {%- endfor %}
        asked.ledger_batch as ledger_before
    from (select distinct {{ collapsing._column_list(settings.key) }}, ledger_batch from unread) as asked
    inner join {{ collapsing._visible_rows(ledger) | indent(4) }} as stored
        on {{ collapsing._same_key(settings.key, 'asked', 'stored') }} and stored.ledger_batch < asked.ledger_batch
{%- endmacro %}


{# Returns the names of what can become of a staged row that a run has read. #}
{% macro _decision_names() %}
    {{ return([
        'applied', 'duplicate', 'stale', 'superseded', 'tie', 'orphan_delete', 'null_key', 'null_version', 'bad_sign', 'null_block'
    ]) }}
{% endmacro %}
