select * from {{ collapsing.final(ref('aircraft_ledger')) }}
