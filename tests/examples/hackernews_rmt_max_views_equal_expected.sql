-- The article's GROUP BY over the ledger, without final, gives what final gives.

with actual as (
    select * from {{ ref('hackernews_rmt_max_views') }}
),

expected as (
    select * from {{ ref('hackernews_rmt_expected') }}
    where step = least({{ var('examples_step', 99) }}, 3)
)

{{ collapsing.differences('actual', 'expected', ['id', 'author', 'comment', 'views']) }}
