-- What a projection appends after it has read batch 1 of a ledger whose last batch is 3. Its decimal sum is given as text,
-- which shows every digit.
{{ config(materialized='ephemeral') }}

{% set settings = {
    'group_by': {'label': 'label'},
    'measures': [
        {'name': 'total', 'function': 'sum', 'argument': 'metric'},
        {'name': 'filled', 'function': 'count', 'argument': 'metric'},
        {'name': 'amount', 'function': 'sum', 'argument': 'amount'}
    ]
} %}
{% set types = ['int', '-', 'decimal(38,18)'] %}

with appended as (
    {{ collapsing._project(ref('unit_ledger'), settings, types, 'ledger_batch > 1 and ledger_batch <= 3') }}
)

select
    label,
    ledger_count_total,
    ledger_sum_total,
    ledger_count_filled,
    ledger_count_amount,
    cast(ledger_sum_amount as string) as ledger_sum_amount,
    ledger_sign
from appended
