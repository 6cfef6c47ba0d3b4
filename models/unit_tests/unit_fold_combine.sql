-- A fold that merges old and new rows. The order of events shows in label.
{{ config(materialized='ephemeral') }}

{% set settings = collapsing._ledger_settings('unit_fold_combine', {
    'key': 'id',
    'version': 'version',
    'sign': 'sign',
    'block': 'block',
    'combine': {
        'metric': 'greatest(new.metric, old.metric)',
        'label': 'concat(old.label, new.label)'
    }
}) %}
{% set columns = [
    {'name': 'id', 'dtype': 'int'},
    {'name': 'version', 'dtype': 'int'},
    {'name': 'metric', 'dtype': 'int'},
    {'name': 'label', 'dtype': 'string'},
    {'name': 'sign', 'dtype': 'int'},
    {'name': 'block', 'dtype': 'string'}
] %}
{% set batch = {'number': 9, 'unread': none, 'bounds': none, 'rows': 0} %}

{{ collapsing._fold(ref('unit_events'), ref('unit_ledger'), settings, columns, batch) }}
