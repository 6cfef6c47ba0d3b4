{% test complete(model, stage) %}
{%- set instead = collapsing._instead_of_test([model, stage]) if execute else none -%}
{{- instead or '' -}}
{%- if execute and not instead -%}
    {%- set node = collapsing._asked_ledger('the test complete', model) -%}
    {%- do collapsing._check_has_stage(node, 'the test complete') -%}
    {%- do collapsing._warn_of_other_stage(node) -%}
    {%- set settings = collapsing._ledger_settings(node) -%}
    {{ collapsing._unaccounted(model, collapsing._rows_of_shard(stage, settings), settings, collapsing.decisions(model, stage)) }}
{%- endif -%}
{% endtest %}
