{{ config(materialized='view') }}
{%- set local = env_var('COLLAPSING_LOCAL', env_var('PWD', '.') ~ '/.local') %}

select
    tailnum,
    manufacturer,
    model,
    seats,
    built_in
from parquet.`{{ local }}/events/original_aircraft`
