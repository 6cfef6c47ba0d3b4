{{ config(materialized='view') }}
{%- set local = env_var('COLLAPSING_LOCAL', env_var('PWD', '.') ~ '/.local') %}

select
    carrier,
    flight,
    scheduled_at,
    event_at,
    event,
    is_cancelled,
    origin,
    dest,
    tailnum,
    distance,
    dep_delay,
    arr_delay,
    air_time,
    regexp_extract(_metadata.file_path, '/landing/(.*)', 1) as _block
from parquet.`{{ local }}/landing/flight_events`
