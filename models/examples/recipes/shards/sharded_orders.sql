-- Use this where one ledger is too much for one run: two ledgers, each with half of the keys, which can run at the same time
-- on a server. Change neither the number of ledgers nor the type of the key later: keys would move to another ledger.
with shard_0 as (
    select * from {{ collapsing.final(ref('sharded_orders_0_ledger')) }}
),

shard_1 as (
    select * from {{ collapsing.final(ref('sharded_orders_1_ledger')) }}
)

select * from shard_0
union all
select * from shard_1
