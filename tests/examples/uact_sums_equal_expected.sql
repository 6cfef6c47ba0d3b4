-- The page's sums, written over the ledger without final, give what final gives.

with actual as (
    select
        UserID,
        PageViews,
        Duration
    from {{ ref('uact_sums') }}
),

expected as (
    select
        UserID,
        PageViews,
        Duration
    from {{ ref('uact_expected') }}
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
