-- A fold with every default, upon a ledger; rows of a block are ordered by log_offset.
{{ config(materialized='ephemeral') }}

{% set settings = collapsing._ledger_settings('unit_fold', {
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

{{ collapsing._fold(ref('unit_events'), ref('unit_ledger'), settings, columns, batch) }}
