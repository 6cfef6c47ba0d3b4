with blocks as (
    select * from {{ ref('example3_blocks') }}
)

select
    id,
    metric1,
    metric2,
    _version,
    sign,
    step as _block
from blocks
where step <= {{ var('examples_step', 99) }}
