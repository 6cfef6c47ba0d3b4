-- GROUP BY: of each column the value in the row with the greatest ts. ClickHouse's argMax is max_by in Spark.
with staged as (
    select * from {{ ref('repl_tbl_stage') }}
    -- here stands the filter: where key = 10 for one key, where key in (select ...) for several
)

select
    key,
    max_by(val_1, ts) as val_1,
    max_by(val_2, ts) as val_2,
    max_by(val_3, ts) as val_3,
    max_by(val_4, ts) as val_4,
    max_by(val_5, ts) as val_5,
    max(ts) as ts
from staged
group by key
