-- ORDER BY LIMIT BY: ClickHouse's LIMIT 1 BY key is the row of place 1 in Spark.
with staged as (
    select * from {{ ref('repl_tbl_stage') }}
    -- here stands the filter: where key = 10 for one key, where key in (select ...) for several
),

placed as (
    select
        *,
        row_number() over (partition by key order by ts desc) as place
    from staged
)

select
    key,
    val_1,
    val_2,
    val_3,
    val_4,
    val_5,
    ts
from placed
where place = 1
