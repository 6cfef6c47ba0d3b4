{{ config(materialized='view') }}
select * from {{ collapsing.final(ref('old_sums')) }}
