{% test collapsed(model) %}
{%- if execute -%}
    {%- set node = collapsing._model_of(model) -%}
    {%- if collapsing._kind_of(node, 'the test collapsed') != 'ledger' -%}
        {{ collapsing._raise(node.name, 'the test collapsed is for a ledger; this is a projection') }}
    {%- endif -%}
    {%- do collapsing._check_one_shard(node) -%}
    {%- set settings = collapsing._ledger_settings(node.name, node.config.meta.collapsing) -%}
    {%- if not collapsing._engine(settings).adds_up -%}
        {{ collapsing._raise(
            node.name, 'the test collapsed counts states against cancels; the engine ' ~ settings.engine ~ ' has no cancel rows'
        ) }}
    {%- endif -%}
    select * from (
        {{ collapsing._findings(collapsing._rows_not_undone(model), settings, collapsing._describe(collapsing._named(model)).columns) }}
    )
    order by ledger_key, finding, states, cancels
{%- endif -%}
{% endtest %}
