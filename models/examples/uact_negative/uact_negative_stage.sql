with blocks as (
    select * from {{ ref('uact_negative_blocks') }}
)

select
    UserID,
    PageViews,
    Duration,
    Sign,
    position,
    step as _block
from blocks
where step <= {{ var('examples_step', 99) }}
