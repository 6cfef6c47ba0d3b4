{% test complete(model, stage) %}
{%- set instead = collapsing._instead_of_test([model, stage]) if execute else none -%}
{{- instead or '' -}}
{%- if execute and not instead -%}
    {%- set node = collapsing._asked_ledger('the test complete', model) -%}
    {%- set settings = collapsing._ledger_settings(node) -%}
    {{ collapsing._unaccounted(model, stage, settings, collapsing.decisions(model, stage)) }}
{%- endif -%}
{% endtest %}
