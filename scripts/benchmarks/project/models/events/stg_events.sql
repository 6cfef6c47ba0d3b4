{{ config(materialized='view') }}
select * from {{ source('staged', 'events') }}
