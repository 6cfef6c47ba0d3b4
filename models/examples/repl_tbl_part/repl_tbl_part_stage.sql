with blocks as (
    select * from {{ ref('repl_tbl_part_blocks') }}
)

select
    key,
    value,
    part_key,
    position,
    step as _block
from blocks
where step <= {{ var('examples_step', 99) }}
