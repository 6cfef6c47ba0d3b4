-- The live products are those of the last snapshot.

with snapshots as (
    select
        *,
        rank() over (order by snapshot_on desc) as place
    from {{ ref('products_snapshots') }}
    where step <= {{ var('examples_step', 99) }}
),

actual as (
    select
        product_id,
        name,
        price
    from {{ ref('products') }}
),

expected as (
    select
        product_id,
        name,
        price
    from snapshots
    where place = 1
)

(
    select * from actual
    except all
    select * from expected
)
union all
(
    select * from expected
    except all
    select * from actual
)
