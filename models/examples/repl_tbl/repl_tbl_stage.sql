with blocks as (
    select * from {{ ref('repl_tbl_blocks') }}
)

select
    key,
    val_1,
    val_2,
    val_3,
    val_4,
    val_5,
    ts,
    step as _block
from blocks
where step <= {{ var('examples_step', 99) }}
