{{ config(materialized='view') }}
select * from {{ collapsing.final(ref('wide_by_region')) }}
