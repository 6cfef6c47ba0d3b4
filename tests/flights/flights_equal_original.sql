-- The live rows of the ledger are the flights of the original table that were not cancelled, no more and no less.

with live as (
    select
        *,
        event = 'diverted' as diverted
    from {{ collapsing.final(ref('flights')) }}
),

flown as (
    select * from {{ ref('stg_flights_2013') }}
    where not cancelled
)

{{ collapsing.differences('live', 'flown', [
    'carrier', 'flight', 'scheduled_at', 'origin', 'dest', 'tailnum', 'distance', 'dep_delay', 'arr_delay', 'air_time',
    'diverted'
]) }}
