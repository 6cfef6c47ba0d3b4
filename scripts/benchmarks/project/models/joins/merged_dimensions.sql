{{ merges() }}
select
    id,
    version,
    region
from {{ source('staged', 'dimension_events') }}
where {{ "load = '" ~ var("load") ~ "'" if is_incremental() else "true" }}
