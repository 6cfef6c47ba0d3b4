-- One winner for each key and partition: two rows of the key, where final gives one.

with actual as (
    select * from {{ ref('repl_tbl_part_final_by_partition') }}
),

expected as (
    select * from {{ ref('repl_tbl_part_expected_by_partition') }}
    where step = least({{ var('examples_step', 99) }}, 1)
)

{{ collapsing.differences('actual', 'expected', ['key', 'value', 'part_key', 'position']) }}
