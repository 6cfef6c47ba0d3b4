select * from {{ collapsing.final(ref('example3')) }}
