select * from {{ collapsing.final(ref('products_ledger')) }}
