{% test collapsed(model) %}
{%- set instead = collapsing._instead_of_test([model]) if execute else none -%}
{{- instead or '' -}}
{%- if execute and not instead -%}
    {%- set node = collapsing._asked_ledger('the test collapsed', model) -%}
    {%- set settings = collapsing._ledger_settings(node) -%}
    {%- if not collapsing._engine(settings).adds_up -%}
        {%- do collapsing._raise(
            node.name, 'the test collapsed counts states against cancels; the engine ' ~ settings.engine ~ ' has no cancel rows'
        ) -%}
    {%- endif -%}
    {%- set columns = collapsing._describe(collapsing._plain(model)).columns -%}
    select * from (
        {{ collapsing._findings(collapsing._visible_rows(model), settings, columns) }}
    )
    order by ledger_key, finding, states, cancels
{%- endif -%}
{% endtest %}
