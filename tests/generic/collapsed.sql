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
    {%- set described = collapsing._describe(collapsing._plain(model)) -%}
    {%- do collapsing._check_read_by_its_rules(described, settings) -%}
    select * from (
        {{ collapsing._findings(collapsing._rows_not_undone(model), settings, described.columns) }}
    )
    order by ledger_key, finding, states, cancels
{%- endif -%}
{% endtest %}
