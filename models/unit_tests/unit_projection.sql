-- A projection, as the unit tests give its rows: dbt takes the types from here.
select
    cast(null as string) as label,
    cast(null as bigint) as ledger_count_total,
    cast(null as decimal(30, 0)) as ledger_sum_total,
    cast(null as bigint) as ledger_count_mean,
    cast(null as decimal(30, 2)) as ledger_sum_mean,
    cast(null as bigint) as ledger_count_ratio,
    cast(null as double) as ledger_sum_ratio,
    cast(null as int) as ledger_value_least,
    cast(null as bigint) as ledger_count_least,
    cast(null as string) as ledger_value_different,
    cast(null as bigint) as ledger_count_different,
    cast(null as int) as ledger_part,
    cast(null as bigint) as ledger_sign,
    cast(null as int) as ledger_batch
where false
