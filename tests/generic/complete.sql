{% test complete(model, stage) %}
{%- set instead = collapsing._instead_of_test([model, stage]) if execute else none -%}
{{- instead or '' -}}
{%- if execute and not instead -%}
    {%- set node = collapsing._asked_ledger('the test complete', model) -%}
    {%- do collapsing._check_relation('the test complete', stage) -%}
    {%- do collapsing._check_not_ephemeral('the test complete', node, stage) -%}
    {%- set settings = collapsing._ledger_settings(node) -%}
    {%- set columns = collapsing._stage_columns('select * from ' ~ stage, settings) -%}
    {{ collapsing._unaccounted(model, stage, settings, collapsing._decided_rows(stage, model, settings, columns)) }}
{%- endif -%}
{% endtest %}
