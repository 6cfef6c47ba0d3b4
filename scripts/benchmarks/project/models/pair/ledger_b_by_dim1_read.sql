{{ config(materialized='view') }}
select * from {{ collapsing.final(ref('ledger_b_by_dim1')) }}
