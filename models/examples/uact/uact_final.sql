select * from {{ collapsing.final(ref('uact')) }}
