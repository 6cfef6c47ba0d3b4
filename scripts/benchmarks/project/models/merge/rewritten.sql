-- a changed row rewrites its file: readers have nothing to merge
{{
    merges({
        'delta': {'delta.enableDeletionVectors': 'false'},
        'iceberg': {
            'format-version': '2',
            'write.merge.mode': 'copy-on-write',
            'write.update.mode': 'copy-on-write',
            'write.delete.mode': 'copy-on-write',
            'write.parquet.row-group-size-bytes': '16777216',
        },
    })
}}
{{ arrived() }}
