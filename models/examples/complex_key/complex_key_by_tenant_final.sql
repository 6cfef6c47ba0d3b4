select * from {{ collapsing.final(ref('complex_key_by_tenant')) }}
