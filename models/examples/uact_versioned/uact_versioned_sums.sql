select
    UserID,
    sum(PageViews * Sign) as PageViews,
    sum(Duration * Sign) as Duration,
    Version
from {{ collapsing.changes(ref('uact_versioned'), after=0) }}
group by UserID, Version
having sum(Sign) > 0
