-- The live rows of a ledger.
{{ config(materialized='ephemeral') }}

{% set settings = collapsing._ledger_settings(
    {'name': 'unit_final_of_ledger', 'config': {'meta': {'collapsing': {'key': 'id', 'version': 'version'}}}}
) %}

with visible as (
    select
        *,
        9 as ledger_newest
    from {{ ref('unit_ledger') }}
)

{{ collapsing._uncancelled_rows('visible', ref('unit_ledger'), settings, ['id', 'version', 'log_offset', 'metric', 'label']) }}
