{{ config(materialized='view') }}
select * from {{ collapsing.final(ref('cold_ledger')) }}
