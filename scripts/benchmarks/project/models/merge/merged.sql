-- as the documents of the formats advise for many small updates
{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key='id',
        file_format=target.name,
        tblproperties={
            'delta': {'delta.enableDeletionVectors': 'true'},
            'iceberg': {
                'format-version': '3',
                'write.merge.mode': 'merge-on-read',
                'write.update.mode': 'merge-on-read',
                'write.delete.mode': 'merge-on-read',
            },
        }.get(target.name, {}),
    )
}}
select
    id,
    version,
    dim1,
    dim2,
    kind,
    metric1,
    metric2,
    payload,
    is_deleted
from {{ ref('stg_events') }}
-- its run is told which load is new, so that it need not look for it
where {{ "load = '" ~ var("load") ~ "'" if is_incremental() else "true" }}
