with blocks as (
    select * from {{ ref('hackernews_views_blocks') }}
)

select
    id,
    author,
    -- where the article's INSERT leaves views out, ClickHouse puts 0
    coalesce(views, 0) as views,
    sign,
    position,
    step as _block
from blocks
where step <= {{ var('examples_step', 99) }}
