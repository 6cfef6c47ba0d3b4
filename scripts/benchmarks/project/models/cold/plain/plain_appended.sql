{{ config(materialized='incremental', incremental_strategy='append', file_format=target.name) }}
select *
from {{ ref('stg_cold') }}
{% if is_incremental() %}
    where block not in (select block from {{ this }})
{% endif %}
