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
{{ arrived() }}
