-- The article's sums, written over the ledger without final, give what final gives.

with actual as (
    select
        id,
        author,
        views
    from {{ ref('hackernews_views_vcmt_sums') }}
),

expected as (
    select
        id,
        author,
        views
    from {{ ref('hackernews_views_vcmt_expected') }}
    where step = least({{ var('examples_step', 99) }}, 2)
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
