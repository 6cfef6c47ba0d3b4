{# Gives a subquery of the merged groups: those that still have a live row. `types` as _types_of gives them. #}
{% macro _final_of_projection(projection, settings, types, as_of) %}
{%- set groups = settings.group_by.keys() | list -%}
(
    select
        {%- for group in groups %}
        {{ adapter.quote(group) }},
        {%- endfor %}
        {%- for measure in settings.measures %}
        {{ collapsing._merged_measure(projection, measure, types) }} as {{ adapter.quote(measure.name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ projection }}
    {%- if as_of is not none %}
    where ledger_batch <= {{ as_of }}
    {%- endif %}
    {%- if groups %}
    group by {{ collapsing._row_list(groups) }}
    {%- endif %}
    having sum(ledger_sign) <> 0
)
{%- endmacro %}
