{{ config(materialized='view') }}
{{ newest_of(ref('appended')) }}
