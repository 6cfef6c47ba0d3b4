{{ config(materialized='table', file_format=target.name) }}
{{ sums_of(ref('plain'), 'dim1') }}
