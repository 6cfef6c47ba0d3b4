select * from {{ collapsing.final(ref('example4')) }}
