-- Right where the value only ever grows, as the article has it, and no other column changes: an edited comment would be
-- two groups. Where that does not hold, read final.
select
    id,
    author,
    comment,
    max(views) as views
from {{ collapsing.changes(ref('hackernews_rmt'), after=0) }}
group by id, author, comment
