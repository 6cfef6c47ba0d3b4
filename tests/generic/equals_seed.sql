{% test equals_seed(model, seed, columns=none, seed_where=none) %}
{%- set instead = collapsing._instead_of_test([model, seed]) if execute else none -%}
{{- instead or '' -}}
{%- if execute and not instead -%}
{%- do collapsing._check_relation('equals_seed', seed) -%}
{%- set final = collapsing.final(model) -%}
{%- set node, known = collapsing._model_of(model), collapsing._columns_of_query('select * from ' ~ final) -%}
{%- set names = known | map(attribute='name') | list -%}
{%- set compared = [columns] if columns is string else columns or names -%}
{%- if compared is not iterable or compared | map('lower') | reject('in', names | map('lower') | list) | list -%}
    {%- do collapsing._raise(
        node.name, "the argument 'columns' of the test equals_seed must be a column or a list of columns (" ~ names | join(', ') ~ '); given: '
        ~ collapsing._shown(columns)
    ) -%}
{%- endif -%}
{%- for column in known if column.name | lower in compared | map('lower') | list and not collapsing._is_comparable(column.dtype) -%}
    {%- do collapsing._raise(
        node.name, "the test equals_seed cannot compare the column '" ~ column.name ~ "' of type " ~ column.dtype
        ~ ": name the others in its argument 'columns'"
    ) -%}
{%- endfor -%}
{%- set key = collapsing._projection_settings(node).group_by if collapsing._is_projection(node) else collapsing._ledger_settings(node).key -%}
{%- set key = key | select('in', compared) | list -%}
with

actual as (
    select {{ collapsing._column_list(compared) }} from {{ final }}
),

expected as (
    select {{ collapsing._column_list(compared) }} from {{ seed }}
    {%- if seed_where %}
    where {{ seed_where }}
    {%- endif %}
)

(
    select 'actual' as only_in, * from (
        select * from actual
        except all
        select * from expected
    )
)
union all
(
    select 'expected' as only_in, * from (
        select * from expected
        except all
        select * from actual
    )
)
order by {{ collapsing._column_list(key + ['only_in'] + compared | reject('in', key) | list) }}
{%- endif -%}
{% endtest %}
