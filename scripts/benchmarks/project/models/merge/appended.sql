{{ config(materialized='incremental', incremental_strategy='append', file_format=target.name) }}
{{ arrived() }}
