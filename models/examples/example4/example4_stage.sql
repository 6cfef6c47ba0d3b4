with blocks as (
    select * from {{ ref('example4_blocks') }}
)

select
    id,
    metric1,
    metric2,
    -- a seed cannot hold an empty string: dbt loads it as NULL or as a word, by connection method
    replace(dim1, '(empty)', '') as dim1,
    updated_at,
    sign,
    step as _block
from blocks
where step <= {{ var('examples_step', 99) }}
