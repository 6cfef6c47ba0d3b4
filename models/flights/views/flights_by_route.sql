select * from {{ collapsing.final(ref('flights_by_route_projection')) }}
