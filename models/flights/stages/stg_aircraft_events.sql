{{ config(materialized='view') }}
{%- set local = env_var('COLLAPSING_LOCAL', env_var('PWD', '.') ~ '/.local') %}

select
    tailnum,
    changed_at,
    is_removed,
    manufacturer,
    model,
    seats,
    built_in,
    _metadata.file_name as _block
from parquet.`{{ local }}/landing/aircraft_events`
