-- The page's sums, written over the ledger without final, give what final gives.

with actual as (
    select * from {{ ref('uact_versioned_sums') }}
),

expected as (
    select * from {{ ref('uact_versioned_expected') }}
    where step = least({{ var('examples_step', 99) }}, 2)
)

{{ collapsing.differences('actual', 'expected', ['UserID', 'PageViews', 'Duration', 'Version']) }}
