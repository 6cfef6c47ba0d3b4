with blocks as (
    select * from {{ ref('example5_blocks') }}
)

select
    id,
    -- the article's metric1 is not Nullable: where the INSERT leaves it out, ClickHouse puts 0
    coalesce(metric1, 0) as metric1,
    metric2,
    updated_at,
    step as _block
from blocks
where step <= {{ var('examples_step', 99) }}
