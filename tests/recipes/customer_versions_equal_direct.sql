-- Each version ends where the next later one of its customer begins; a delete ends one and is none.

with versions as (
    select distinct
        customer_id,
        name,
        country,
        changed_at,
        is_deleted
    from {{ ref('customers_blocks') }}
    where step <= {{ var('examples_step', 99) }}
),

actual as (
    select
        customer_id,
        name,
        country,
        valid_from,
        valid_to
    from {{ ref('customer_versions') }}
),

expected as (
    select
        versions.customer_id,
        versions.name,
        versions.country,
        versions.changed_at as valid_from,
        min(later.changed_at) as valid_to
    from versions
    left join versions as later
        on versions.customer_id = later.customer_id and versions.changed_at < later.changed_at
    where versions.is_deleted = 0
    group by versions.customer_id, versions.name, versions.country, versions.changed_at
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
