select * from {{ collapsing.final(ref('example1')) }}
