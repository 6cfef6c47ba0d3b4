-- The live rows of a ledger.
{{ config(materialized='ephemeral') }}

{% set settings = collapsing._ledger_settings(
    {'name': 'unit_final_of_ledger', 'config': {'meta': {'collapsing': {'key': 'id', 'version': 'version'}}}}
) %}

{{ collapsing._uncancelled_rows(ref('unit_ledger'), ref('unit_ledger'), settings, ['id', 'version', 'log_offset', 'metric', 'label']) }}
