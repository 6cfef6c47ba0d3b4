{{ config(materialized='view') }}
select * from {{ collapsing.final(ref('young_sums')) }}
