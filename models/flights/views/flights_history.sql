select * from {{ collapsing.history(ref('flights_ledger')) }}
