select
    UserID,
    sum(PageViews * Sign) as PageViews,
    sum(Duration * Sign) as Duration
from {{ ref('uact') }}
group by UserID
having sum(Sign) > 0
