-- A ledger, as the unit tests give its rows: dbt takes the types from here.
select
    cast(null as int) as id,
    cast(null as int) as version,
    cast(null as int) as log_offset,
    cast(null as int) as metric,
    cast(null as string) as label,
    cast(null as decimal(38, 18)) as amount,
    cast(null as tinyint) as ledger_sign,
    cast(null as string) as ledger_block,
    cast(null as string) as ledger_note,
    cast(null as int) as ledger_batch
where false
