{{ config(materialized='view') }}
select * from {{ collapsing.final(ref('grown_1_by_dim1')) }}
