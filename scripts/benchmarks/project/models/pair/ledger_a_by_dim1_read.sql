{{ config(materialized='view') }}
select * from {{ collapsing.final(ref('ledger_a_by_dim1')) }}
