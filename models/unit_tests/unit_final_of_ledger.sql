-- The live rows of a ledger.
{{ config(materialized='ephemeral') }}

{% set settings = collapsing._ledger_settings('unit_final_of_ledger', {'key': 'id', 'version': 'version'}) %}

select * from {{ collapsing._final_of_ledger(ref('unit_ledger'), settings, none) }}
