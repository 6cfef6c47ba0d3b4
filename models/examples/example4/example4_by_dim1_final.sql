select * from {{ collapsing.final(ref('example4_by_dim1')) }}
