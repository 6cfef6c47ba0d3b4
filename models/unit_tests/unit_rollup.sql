-- What a projection of a projection appends after it has read batch 1 of its source projection, whose last batch is 3.
{{ config(materialized='ephemeral') }}

{% set source_projection = {
    'name': 'unit_projection',
    'group_by': {'label': 'label'},
    'measures': [
        {'name': 'live_rows', 'function': 'count', 'argument': '*', 'aggregate': 'count(*)'},
        {'name': 'total', 'function': 'sum', 'argument': 'metric', 'aggregate': 'sum(metric)'},
        {'name': 'mean', 'function': 'count', 'argument': 'amount', 'aggregate': 'count(amount)'},
        {'name': 'least', 'function': 'min', 'argument': 'metric', 'aggregate': 'min(metric)'}
    ]
} %}
{% set settings = {
    'group_by': {'initial': 'left(label, 1)'},
    'measures': [
        {'name': 'live', 'function': 'sum', 'argument': 'live_rows', 'aggregate': 'sum(live_rows)'},
        {'name': 'filled', 'function': 'sum', 'argument': 'mean', 'aggregate': 'sum(mean)'},
        {'name': 'sums', 'function': 'sum', 'argument': 'total', 'aggregate': 'sum(total)'},
        {'name': 'low', 'function': 'min', 'argument': 'least', 'aggregate': 'min(least)'}
    ]
} %}

with appended as (
    {{ collapsing._project(
        ref('unit_projection'), settings, {'ledger_sum_total': 'decimal(30,0)'}, {'after': 1, 'upto': 3, 'number': 3}, source_projection
    ) }}
)

select * from appended
