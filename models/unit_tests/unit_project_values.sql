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
{% set types = {'total': 'int', 'least': 'int', 'different': 'int'} %}

with appended as (
    {{ collapsing._project(ref('unit_ledger'), settings, types, {'after': 1, 'upto': 3, 'number': 3}) }}
)

select * from appended
