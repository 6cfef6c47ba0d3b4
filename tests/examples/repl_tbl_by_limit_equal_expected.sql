-- The last state by ORDER BY and LIMIT BY is the one that final gives.

with actual as (
    select
        key,
        val_1,
        val_2,
        val_3,
        val_4,
        val_5,
        ts
    from {{ ref('repl_tbl_by_limit') }}
),

expected as (
    select
        key,
        val_1,
        val_2,
        val_3,
        val_4,
        val_5,
        ts
    from {{ ref('repl_tbl_expected') }}
    where step = least({{ var('examples_step', 99) }}, 4)
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
