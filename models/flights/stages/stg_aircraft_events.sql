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
    regexp_extract(_metadata.file_path, '/landing/(.*)', 1) as _block
from parquet.`{{ local }}/landing/aircraft_events`
