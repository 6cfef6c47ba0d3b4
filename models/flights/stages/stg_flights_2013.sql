{{ config(materialized='view') }}
{%- set local = env_var('COLLAPSING_LOCAL', env_var('PWD', '.') ~ '/.local') %}

select
    carrier,
    flight,
    scheduled_at,
    origin,
    dest,
    tailnum,
    distance,
    dep_delay,
    arr_delay,
    air_time,
    cancelled,
    diverted
from parquet.`{{ local }}/events/original`
