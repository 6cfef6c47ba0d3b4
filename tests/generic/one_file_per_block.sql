{% test one_file_per_block(model, block) %}
select
    ledger_block,
    sum(staged) as staged,
    sort_array(collect_list(ledger_file)) as files
from (
    select
        cast({{ adapter.quote(block) }} as string) as ledger_block,
        input_file_name() as ledger_file,
        count(*) as staged
    from {{ model }}
    group by all
)
-- a token that names no file, such as a day, may well be that of several
where endswith(ledger_block, nullif(substring_index(ledger_file, '/', -1), ''))
group by ledger_block
having count(*) > 1
order by ledger_block
{% endtest %}
