-- Use this where all rows arrive each day, and a row that is missing has been deleted. Each snapshot is compared with the one
-- before it: rows that are new or changed are upserts, rows that are missing are deletes, both in the version of the day.
-- A block is named for the two days that were compared, so a snapshot that arrives late gives two new blocks. A snapshot
-- without rows is not seen.
with snapshots as (
    select
        snapshot_on,
        product_id,
        name,
        price
    from {{ ref('products_snapshots') }}
    where step <= {{ var('examples_step', 99) }}
),

days as (
    select
        snapshot_on,
        lag(snapshot_on) over (order by snapshot_on) as previous_on
    from snapshots
    group by snapshot_on
),

present as (
    select
        days.snapshot_on,
        days.previous_on,
        snapshots.product_id,
        snapshots.name,
        snapshots.price
    from days
    inner join snapshots on days.snapshot_on = snapshots.snapshot_on
),

previous as (
    select
        days.snapshot_on,
        days.previous_on,
        snapshots.product_id,
        snapshots.name,
        snapshots.price
    from days
    inner join snapshots on days.previous_on = snapshots.snapshot_on
),

changed as (
    select * from present
    except
    select * from previous
),

missing as (
    select previous.*
    from previous
    left anti join present
        on previous.snapshot_on = present.snapshot_on and previous.product_id = present.product_id
),

events as (
    select
        *,
        false as is_deleted
    from changed
    union all
    select
        *,
        true as is_deleted
    from missing
)

select
    product_id,
    name,
    price,
    snapshot_on,
    is_deleted,
    concat_ws(' to ', previous_on, snapshot_on) as _block
from events
