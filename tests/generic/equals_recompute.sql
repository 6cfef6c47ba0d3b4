{% test equals_recompute(model, float_tolerance=1e-9) %}
{%- if execute -%}
    {%- set node = collapsing._model_of(model) -%}
    {%- if collapsing._kind_of(node, 'the test equals_recompute') != 'projection' -%}
        {{ collapsing._raise(node.name, 'the test equals_recompute is for a projection; this is a ledger') }}
    {%- endif -%}
    {%- set tolerance = float_tolerance | float(-1) -%}
    {%- if not 0 <= tolerance < 1 -%}
        {{ collapsing._raise(
            node.name,
            'the argument float_tolerance of the test equals_recompute must be a number from 0 to below 1; given: ' ~ float_tolerance
        ) }}
    {%- endif -%}
    {{ collapsing._differs_from_recompute(collapsing._built_relation(node), node, tolerance) }}
{%- endif -%}
{% endtest %}
