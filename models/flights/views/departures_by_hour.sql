select * from {{ collapsing.final(ref('departures_by_hour_projection')) }}
