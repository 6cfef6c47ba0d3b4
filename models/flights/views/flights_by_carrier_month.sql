select * from {{ collapsing.final(ref('flights_by_carrier_month_projection')) }}
