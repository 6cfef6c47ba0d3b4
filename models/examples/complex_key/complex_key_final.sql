select * from {{ collapsing.final(ref('complex_key')) }}
