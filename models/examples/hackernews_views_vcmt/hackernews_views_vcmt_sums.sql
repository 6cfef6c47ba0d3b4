select
    id,
    author,
    sum(views * sign) as views
from {{ collapsing.changes(ref('hackernews_views_vcmt'), after=0) }}
group by id, author
having sum(sign) > 0
order by id
