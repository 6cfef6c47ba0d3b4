{{ config(materialized='view') }}
select * from {{ collapsing.final(ref('grown_20_by_dim1')) }}
