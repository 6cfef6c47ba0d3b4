{{ config(materialized='view') }}
{{ landed('cold') }}
