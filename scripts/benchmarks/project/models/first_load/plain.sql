{{ config(materialized='table', file_format=target.name) }}
{{ newest_of(ref('stg_events')) }}
