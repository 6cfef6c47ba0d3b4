-- a changed row rewrites its file: readers have nothing to merge
{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key='id',
        file_format=target.name,
        tblproperties={
            'delta': {'delta.enableDeletionVectors': 'false'},
            'iceberg': {
                'format-version': '2',
                'write.merge.mode': 'copy-on-write',
                'write.update.mode': 'copy-on-write',
                'write.delete.mode': 'copy-on-write',
            },
        }.get(target.name, {}),
    )
}}
{{ arrived() }}
