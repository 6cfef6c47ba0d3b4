-- One winner for each key and partition: two rows of the key, where final gives one.

with actual as (
    select
        key,
        value,
        part_key,
        position
    from {{ ref('repl_tbl_part_final_by_partition') }}
),

expected as (
    select
        key,
        value,
        part_key,
        position
    from {{ ref('repl_tbl_part_expected_by_partition') }}
    where step = least({{ var('examples_step', 99) }}, 1)
)

(
    select * from actual
    except all
    select * from expected
)
union all
(
    select * from expected
    except all
    select * from actual
)
