select
    UserID,
    sum(PageViews * Sign) as PageViews,
    sum(Duration * Sign) as Duration,
    Version
from {{ ref('uact_versioned') }}
group by UserID, Version
having sum(Sign) > 0
