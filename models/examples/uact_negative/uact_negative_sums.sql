select
    UserID,
    sum(PageViews) as PageViews,
    sum(Duration) as Duration
from {{ ref('uact_negative') }}
group by UserID
