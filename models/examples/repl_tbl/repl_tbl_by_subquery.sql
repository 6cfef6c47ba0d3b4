-- Subquery: the rows whose ts is the greatest of their key. Two rows of a key with that ts would both be there.
with staged as (
    select * from {{ ref('repl_tbl_stage') }}
),

newest as (
    select
        key,
        max(ts) as ts
    from staged
    -- here stands the filter: where key = 10 for one key, where key in (select ...) for several
    group by key
)

select
    key,
    val_1,
    val_2,
    val_3,
    val_4,
    val_5,
    ts
from staged
where (key, ts) in (
    select
        key,
        ts
    from newest
)
