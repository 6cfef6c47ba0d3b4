select * from {{ collapsing.final(ref('hackernews_views_vcmt')) }}
