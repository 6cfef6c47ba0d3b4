{{ config(materialized='view') }}

select
    id,
    metric1,
    metric2,
    _version,
    sign,
    step as _block
from {{ ref('example3_blocks') }}
where step <= {{ var('examples_step', 99) }}
