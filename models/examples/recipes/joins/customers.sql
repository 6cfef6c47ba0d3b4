select * from {{ collapsing.final(ref('customers_ledger')) }}
