with blocks as (
    select * from {{ ref('complex_key_blocks') }}
)

select
    id,
    tenant_id,
    metric1,
    _version,
    sign,
    step as _block
from blocks
where step <= {{ var('examples_step', 99) }}
