{{ config(materialized='view') }}
-- a file is a block
select
    staged.*,
    block
from (
    select
        from_json(value, 'id bigint, version int, amount bigint') as staged,
        _metadata.file_name as block
    from text.`{{ env_var('COLLAPSING_LOCAL', '.') }}/landing/many`
)
