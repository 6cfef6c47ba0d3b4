-- The merged groups of a projection that keeps values: of integers the least and the greatest, of a text how many different ones.
{{ config(materialized='ephemeral') }}

{% set settings = {
    'group_by': {'label': 'label'},
    'measures': [
        {'name': 'live_rows', 'function': 'count', 'argument': '*'},
        {'name': 'total', 'function': 'sum', 'argument': 'metric'},
        {'name': 'least', 'function': 'min', 'argument': 'metric'},
        {'name': 'greatest', 'function': 'max', 'argument': 'metric'},
        {'name': 'different', 'function': 'distinct', 'argument': 'name'}
    ]
} %}
{% set types = {
    'ledger_count_total': 'bigint', 'ledger_sum_total': 'decimal(30,0)', 'ledger_count_least': 'bigint',
    'ledger_count_different': 'bigint'
} %}

select * from {{ collapsing._final_of_projection(ref('unit_projection'), settings, types, ref('unit_projection')) }}
