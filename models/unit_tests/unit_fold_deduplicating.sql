-- A fold in which the first row of a key wins.
{{ config(materialized='ephemeral') }}

{% set settings = collapsing._ledger_settings('unit_fold_deduplicating', {
    'engine': 'deduplicating',
    'key': 'id',
    'order_by': 'log_offset',
    'block': 'block'
}) %}
{% set columns = [
    {'name': 'id', 'dtype': 'int'},
    {'name': 'label', 'dtype': 'string'},
    {'name': 'log_offset', 'dtype': 'int'},
    {'name': 'block', 'dtype': 'string'}
] %}
{% set batch = {'number': 9, 'unread': none, 'bounds': none, 'rows': 0} %}

{{ collapsing._fold(ref('unit_events'), ref('unit_ledger'), settings, columns, batch) }}
