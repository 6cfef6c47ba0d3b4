select * from {{ collapsing.final(ref('flights_ledger')) }}
