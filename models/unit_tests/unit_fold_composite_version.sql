-- A fold by a version of two columns.
{{ config(materialized='ephemeral') }}

{% set settings = collapsing._ledger_settings('unit_fold_composite_version', {
    'key': 'id',
    'version': ['version', 'log_offset'],
    'sign': 'sign',
    'block': 'block'
}) %}
{% set columns = [
    {'name': 'id', 'dtype': 'int'},
    {'name': 'version', 'dtype': 'int'},
    {'name': 'log_offset', 'dtype': 'int'},
    {'name': 'metric', 'dtype': 'int'},
    {'name': 'label', 'dtype': 'string'},
    {'name': 'sign', 'dtype': 'int'},
    {'name': 'block', 'dtype': 'string'}
] %}
{% set batch = {'number': 9, 'unread': none, 'bounds': none, 'rows': 0} %}

{{ collapsing._fold(ref('unit_events'), ref('unit_ledger'), settings, columns, batch) }}
