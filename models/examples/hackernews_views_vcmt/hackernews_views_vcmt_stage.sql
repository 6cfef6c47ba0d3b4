with blocks as (
    select * from {{ ref('hackernews_views_vcmt_blocks') }}
)

select
    id,
    author,
    views,
    sign,
    version,
    step as _block
from blocks
where step <= {{ var('examples_step', 99) }}
