-- The live rows of the ledger are the register of aircraft as it stands at the end, no more and no less.

with live as (
    select * from {{ collapsing.final(ref('aircraft')) }}
)

{{ collapsing.differences('live', ref('stg_aircraft_2013'), ['tailnum', 'manufacturer', 'model', 'seats', 'built_in']) }}
