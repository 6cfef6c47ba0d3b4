-- The rows that a fold of unit_events upon unit_ledger appends. A test gives its settings by the var fold_settings; by default
-- they are those of versioned events, the rows of a block ordered by log_offset.
{{ config(materialized='ephemeral') }}

{% set versioned = {'key': 'id', 'version': 'version', 'sign': 'sign', 'block': 'block', 'order_by': 'log_offset'} %}
{% set settings = collapsing._ledger_settings(
    {'name': 'unit_fold', 'config': {'meta': {'collapsing': var('fold_settings', versioned)}}}
) %}
{% set columns = [
    {'name': 'id', 'dtype': 'int'},
    {'name': 'version', 'dtype': 'int'},
    {'name': 'log_offset', 'dtype': 'int'},
    {'name': 'metric', 'dtype': 'int'},
    {'name': 'label', 'dtype': 'string'},
    {'name': 'block', 'dtype': 'string'}
] %}
{% if settings.sign %}{% do columns.append({'name': 'sign', 'dtype': 'int'}) %}{% endif %}
{% set batch = {'takes': none, 'visible': none, 'bounds': none, 'rows': 0} %}
{% set ledger = ref('unit_ledger') %}

with folded as (
    {{ collapsing._fold(ref('unit_events'), none if var('fold_is_first', false) else ledger, settings, columns, batch) }}
)

select
    *,
    9 as ledger_batch
from folded
