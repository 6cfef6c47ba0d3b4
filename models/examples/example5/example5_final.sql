select * from {{ collapsing.final(ref('example5')) }}
