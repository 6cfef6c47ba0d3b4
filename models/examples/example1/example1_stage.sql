with blocks as (
    select * from {{ ref('example1_blocks') }}
)

select
    id,
    metric,
    position,
    step as _block
from blocks
where step <= {{ var('examples_step', 99) }}
