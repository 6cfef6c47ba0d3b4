{{ config(materialized='view') }}
{{ landed('few') }}
