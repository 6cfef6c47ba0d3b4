with blocks as (
    select * from {{ ref('hackernews_rmt_blocks') }}
)

select
    id,
    author,
    comment,
    views,
    position,
    step as _block
from blocks
where step <= {{ var('examples_step', 99) }}
