-- What a projection that keeps values appends after it has read batch 1 of a ledger whose last batch is 3.
{{ config(materialized='ephemeral') }}

{% set settings = {
    'group_by': {'label': 'label'},
    'measures': [
        {'name': 'total', 'function': 'sum', 'argument': 'metric'},
        {'name': 'least', 'function': 'min', 'argument': 'metric'},
        {'name': 'greatest', 'function': 'max', 'argument': 'metric'},
        {'name': 'different', 'function': 'distinct', 'argument': 'version'}
    ]
} %}
{% set types = ['int', '-', '-', '-'] %}

with appended as (
    {{ collapsing._project(ref('unit_ledger'), settings, types, 'ledger_batch > 1 and ledger_batch <= 3') }}
)

select * from appended
