select * from {{ collapsing.final(ref('orders_ledger')) }}
