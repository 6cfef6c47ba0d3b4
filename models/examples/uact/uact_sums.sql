select
    UserID,
    sum(PageViews * Sign) as PageViews,
    sum(Duration * Sign) as Duration
from {{ collapsing.changes(ref('uact'), after=0) }}
group by UserID
having sum(Sign) > 0
