-- The merged groups of a projection that sums floats, as text, which shows NaN and infinities.
{{ config(materialized='ephemeral') }}

{% set settings = {
    'group_by': {'label': 'label'}, 'measures': [{'name': 'ratio', 'function': 'sum', 'argument': 'ratio'}]
} %}

select
    label,
    cast(ratio as string) as ratio
from {{ collapsing._final_of_projection(
    ref('unit_projection'), settings, {'ledger_sum_ratio': 'double'}, ref('unit_projection')
) }}
