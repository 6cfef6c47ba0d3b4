with blocks as (
    select * from {{ ref('uact_versioned_blocks') }}
)

select
    UserID,
    PageViews,
    Duration,
    Sign,
    Version,
    step as _block
from blocks
where step <= {{ var('examples_step', 99) }}
