select
    id,
    author,
    sum(views * sign) as views
from {{ ref('hackernews_views_vcmt') }}
group by id, author
having sum(sign) > 0
order by id
