{% test collapsed(model) %}
{%- if execute -%}
    {%- set node = collapsing._model_of(model) -%}
    {%- if collapsing._kind_of(node, 'the test collapsed') != 'ledger' -%}
        {{ collapsing._refuse(node.name, 'the test collapsed is for a ledger; this is a projection') }}
    {%- endif -%}
    {%- do collapsing._refuse_all_shards(node) -%}
    {%- set settings = collapsing._ledger_settings(node.name, node.config.meta.collapsing) -%}
    {%- if settings.engine == 'replacing' -%}
        {{ collapsing._refuse(
            node.name, 'the test collapsed counts states against cancels; the engine replacing has no cancel rows'
        ) }}
    {%- endif -%}
    select * from (
        {{ collapsing._findings(collapsing._rows_not_undone(model), settings, adapter.get_columns_in_relation(model)) }}
    )
    order by ledger_key, finding, states, cancels
{%- endif -%}
{% endtest %}
