-- the feed of changes lets an aggregate be kept instead of built again
{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key='id',
        file_format=target.name,
        tblproperties={
            'delta': {'delta.enableDeletionVectors': 'true', 'delta.enableChangeDataFeed': 'true'},
        }.get(target.name, {}),
    )
}}
{{ arrived() }}
