{{ config(materialized='view') }}
select id, tenant, version, is_deleted, amount, block from {{ collapsing_check.check_table('arrived') }}
