-- FINAL: a filter stands behind it, where key = 10 for one key, where key in (select ...) for several.
select * from {{ collapsing.final(ref('repl_tbl')) }}
