-- Plain sums over the ledger, of cancel rows with negative values, are what the page prints.

with actual as (
    select * from {{ ref('uact_negative_sums') }}
),

expected as (
    select * from {{ ref('uact_negative_expected_sums') }}
    where step = least({{ var('examples_step', 99) }}, 3)
)

{{ collapsing.differences('actual', 'expected', ['UserID', 'PageViews', 'Duration']) }}
