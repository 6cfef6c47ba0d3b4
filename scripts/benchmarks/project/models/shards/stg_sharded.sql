{{ config(materialized='view') }}
select * from {{ source('staged', 'sharded') }}
