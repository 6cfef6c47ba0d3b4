{% test complete(model, stage) %}
{%- if execute -%}
    {%- set node = collapsing._model_of(model) -%}
    {%- if collapsing._kind_of(node, 'the test complete') != 'ledger' -%}
        {{ collapsing._raise(node.name, 'the test complete is for a ledger and its stage; this is a projection') }}
    {%- endif -%}
    {%- do collapsing._check_has_stage(node, 'the test complete') -%}
    {%- set settings = collapsing._ledger_settings(node.name, node.config.meta.collapsing) -%}
    {{ collapsing._unaccounted(model, collapsing._in_shard(stage, settings), settings, collapsing.decisions(model, stage)) }}
{%- endif -%}
{% endtest %}
