{% test equals_recompute(model, float_tolerance=1e-9) %}
{%- set instead = collapsing._instead_of_test([model]) if execute else none -%}
{{- instead or '' -}}
{%- if execute and not instead -%}
    {%- set node = collapsing._model_of(model) -%}
    {%- do collapsing._kind_of(node, 'the test equals_recompute', 'projection') -%}
    {%- set tolerance = float_tolerance | float(-1) -%}
    {%- if not 0 <= tolerance < 1 -%}
        {%- do collapsing._raise(
            node.name, 'the argument float_tolerance of the test equals_recompute must be a number from 0 to below 1; given: '
            ~ float_tolerance
        ) -%}
    {%- endif -%}
    {{ collapsing._differs_from_recompute(collapsing._built_relation(node), node, tolerance) }}
{%- endif -%}
{% endtest %}
