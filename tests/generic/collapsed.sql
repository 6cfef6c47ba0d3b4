{% test collapsed(model) %}
{%- if execute -%}
    {%- set node = collapsing._asked_ledger('the test collapsed', model) -%}
    {%- set settings = collapsing._ledger_settings(node) -%}
    {%- if not collapsing._engine(settings).adds_up -%}
        {{ collapsing._raise(
            node.name, 'the test collapsed counts states against cancels; the engine ' ~ settings.engine ~ ' has no cancel rows'
        ) }}
    {%- endif -%}
    select * from (
        {{ collapsing._findings(collapsing._rows_not_undone(model), settings, collapsing._describe(collapsing._plain(model)).columns) }}
    )
    order by ledger_key, finding, states, cancels
{%- endif -%}
{% endtest %}
