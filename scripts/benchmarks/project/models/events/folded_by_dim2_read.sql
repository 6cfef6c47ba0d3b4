{{ config(materialized='view') }}
select * from {{ collapsing.final(ref('folded_by_dim2')) }}
