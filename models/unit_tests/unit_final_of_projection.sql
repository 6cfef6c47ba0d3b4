-- The merged groups of a projection that sums integers and means decimals. The mean is given as text, which shows every digit.
{{ config(materialized='ephemeral') }}

{% set settings = {
    'group_by': {'label': 'label'},
    'measures': [
        {'name': 'live_rows', 'function': 'count', 'argument': '*'},
        {'name': 'total', 'function': 'sum', 'argument': 'metric'},
        {'name': 'mean', 'function': 'avg', 'argument': 'amount'}
    ]
} %}
{% set types = {'ledger_sum_total': 'decimal(30,0)', 'ledger_sum_mean': 'decimal(38,2)'} %}

select
    label,
    live_rows,
    total,
    cast(mean as string) as mean
from {{ collapsing._final_of_projection(ref('unit_projection'), settings, types, ref('unit_projection')) }}
