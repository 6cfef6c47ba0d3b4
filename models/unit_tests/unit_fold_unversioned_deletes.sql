-- A fold in which a delete's version means nothing.
{{ config(materialized='ephemeral') }}

{% set settings = collapsing._ledger_settings('unit_fold_unversioned_deletes', {
    'key': 'id',
    'version': 'version',
    'sign': 'sign',
    'block': 'block',
    'deletes': 'unversioned'
}) %}
{% set columns = [
    {'name': 'id', 'dtype': 'int'},
    {'name': 'version', 'dtype': 'int'},
    {'name': 'label', 'dtype': 'string'},
    {'name': 'sign', 'dtype': 'int'},
    {'name': 'block', 'dtype': 'string'}
] %}
{% set batch = {'number': 9, 'unread': none, 'bounds': none, 'rows': 0} %}

{{ collapsing._fold(ref('unit_events'), ref('unit_ledger'), settings, columns, batch) }}
