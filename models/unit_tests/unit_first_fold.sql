-- The same fold where there is no ledger yet.
{{ config(materialized='ephemeral') }}

{% set settings = collapsing._ledger_settings('unit_first_fold', {
    'key': 'id',
    'version': 'version',
    'sign': 'sign',
    'block': 'block',
    'order_by': 'log_offset'
}) %}
{% set columns = [
    {'name': 'id', 'dtype': 'int'},
    {'name': 'version', 'dtype': 'int'},
    {'name': 'metric', 'dtype': 'int'},
    {'name': 'label', 'dtype': 'string'},
    {'name': 'log_offset', 'dtype': 'int'},
    {'name': 'sign', 'dtype': 'int'},
    {'name': 'block', 'dtype': 'string'}
] %}
{% set batch = {'number': 9, 'unread': none, 'bounds': none, 'rows': 0} %}

{{ collapsing._fold(ref('unit_events'), none, settings, columns, batch) }}
