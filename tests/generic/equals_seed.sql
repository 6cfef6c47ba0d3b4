{% test equals_seed(model, seed, columns=none, seed_where=none) %}
{%- set compared = columns -%}
{%- if execute and not compared -%}
    {%- set compared = get_columns_in_query('select * from ' ~ collapsing.final(model)) -%}
{%- endif -%}
with

actual as (
    select * from {{ collapsing.final(model) }}
),

expected as (
    select * from {{ seed }}
    {%- if seed_where %}
    where {{ seed_where }}
    {%- endif %}
)

{{ collapsing.differences('actual', 'expected', compared or []) }}
{% endtest %}
