{{ config(materialized='view') }}
select * from {{ ref('plain_aggregate') }}
