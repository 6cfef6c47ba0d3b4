{#
    Returns a subquery of the merged groups: those that still have a live row. `types` as _types_of returns them, `rows` as
    _visible_rows gives them; without it all rows of the projection.

    Where measures keep values, the parts are added up by group and value first: what is left of a value tells whether it is there.
#}
{% macro _final_of_projection(projection, settings, types, rows=none) %}
{%- set groups = settings.group_by.keys() | list -%}
{%- set values = collapsing._value_measures(settings.measures) -%}
{%- set parts = rows or projection -%}
(
    select
        {%- for group in groups %}
        {{ adapter.quote(group) }},
        {%- endfor %}
        {%- for measure in settings.measures %}
        {{ collapsing._merged_measure(projection, measure, types, values) }} as {{ adapter.quote(measure.name) }}
        {{- ',' if not loop.last }}
        {%- endfor %}
    from {{ collapsing._partials_by_value(projection, parts, settings, groups, types) | indent(4) if values else parts }}
    {%- if values %}
    where
        ledger_part = 0
        {%- for value in values %}
        or {{ adapter.quote('ledger_count_' ~ value.name) }} > 0
        {%- endfor %}
    {%- endif %}
    {%- if groups %}
    group by {{ collapsing._row_list(groups) }}
    {%- endif %}
    having sum(ledger_sign) <> 0
)
{%- endmacro %}


{# Returns a subquery of one row for each group, and one for each group and value, with what the batches add up to. #}
{% macro _partials_by_value(projection, parts, settings, groups, types) %}
{%- set values, others = [], ['ledger_part', 'ledger_sign', 'ledger_batch'] -%}
{%- for measure in collapsing._value_measures(settings.measures) -%}
    {%- do values.append('ledger_value_' ~ measure.name) -%}
{%- endfor -%}
(
    select
        {%- for name in groups + values %}
        {{ adapter.quote(name) }},
        {%- endfor %}
        ledger_part,
        {%- for name in types if name.startswith('ledger_') and name not in values + others %}
        {{ collapsing._sum_of_partials(projection, name, types[name]) }} as {{ adapter.quote(name) }},
        {%- endfor %}
        sum(ledger_sign) as ledger_sign
    from {{ parts }}
    group by {{ collapsing._row_list(groups + values + ['ledger_part']) }}
)
{%- endmacro %}


{# Returns SQL for what a column of a projection adds up to, over rows of one group, or of one group and value. #}
{% macro _sum_of_partials(projection, column, dtype) %}
    {% if column.startswith('ledger_sum_') %}
        {{ return(collapsing._sum_to_keep(adapter.quote(column), dtype, projection, column.removeprefix('ledger_sum_'))) }}
    {% endif %}
    {{ return('sum(' ~ adapter.quote(column) ~ ')') }}
{% endmacro %}
