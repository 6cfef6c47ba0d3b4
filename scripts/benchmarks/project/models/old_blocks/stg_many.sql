{{ config(materialized='view') }}
{{ landed('many') }}
