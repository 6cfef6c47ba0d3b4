select * from {{ collapsing.final(ref('repl_tbl_part'), across_partitions=false) }}
