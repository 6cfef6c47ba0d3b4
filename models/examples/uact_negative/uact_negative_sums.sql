select
    UserID,
    sum(PageViews) as PageViews,
    sum(Duration) as Duration
from {{ collapsing.changes(ref('uact_negative'), after=0) }}
group by UserID
