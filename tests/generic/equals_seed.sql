{% test equals_seed(model, seed, columns=none, seed_where=none) %}
{%- if execute -%}
{%- do collapsing._check_relation('equals_seed', seed) -%}
{%- set final = collapsing.final(model) -%}
{%- set compared = collapsing._compared_columns(columns, get_columns_in_query('select * from ' ~ final)) -%}
{%- set key = collapsing._key_columns(collapsing._model_of(model)) | select('in', compared) | list -%}
with

actual as (
    select * from {{ final }}
),

expected as (
    select * from {{ seed }}
    {%- if seed_where %}
    where {{ seed_where }}
    {%- endif %}
)

{{ collapsing.differences('actual', 'expected', compared) }}
order by {{ collapsing._row_list(key + ['only_in'] + compared | reject('in', key) | list) }}
{%- endif -%}
{% endtest %}
