-- Use this for the history of each key, a slowly changing dimension of type 2. The ledger keeps each version of a customer
-- once, deletes included. The view finds the end of each version, so a late one takes its place between two others.
with versions as (
    select
        *,
        lead(changed_at) over (partition by customer_id order by changed_at) as next_changed_at
    from {{ collapsing.final(ref('customer_versions_ledger')) }}
)

select
    customer_id,
    name,
    country,
    changed_at as valid_from,
    next_changed_at as valid_to
from versions
where not is_deleted
