select * from {{ collapsing.final(ref('uact_negative')) }}
