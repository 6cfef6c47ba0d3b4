-- The live aircraft are the register as it stands at the end, no more and no less.

with actual as (
    select
        tailnum,
        manufacturer,
        model,
        seats,
        built_in
    from {{ ref('aircraft') }}
),

expected as (
    select
        tailnum,
        manufacturer,
        model,
        seats,
        built_in
    from {{ ref('stg_aircraft_2013') }}
)

(
    select * from actual
    except all
    select * from expected
)
union all
(
    select * from expected
    except all
    select * from actual
)
