{{ merges() }}
select
    *,
    id div 100 as dimension_id
from ({{ arrived() }})
