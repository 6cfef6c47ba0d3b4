-- Plain sums over the ledger, of cancel rows with negative values, are what the page prints.

with actual as (
    select
        UserID,
        PageViews,
        Duration
    from {{ ref('uact_negative_sums') }}
),

expected as (
    select
        UserID,
        PageViews,
        Duration
    from {{ ref('uact_negative_expected_sums') }}
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
