-- The article's GROUP BY over the ledger, without final, gives what final gives.

with actual as (
    select
        id,
        author,
        comment,
        views
    from {{ ref('hackernews_rmt_max_views') }}
),

expected as (
    select
        id,
        author,
        comment,
        views
    from {{ ref('hackernews_rmt_expected') }}
    where step = least({{ var('examples_step', 99) }}, 3)
)

(
    select * from actual
    except all
    select * from expected
)
union all
(
    select * from expected
    except all
    select * from actual
)
