-- Staged rows, as the unit tests give them: dbt takes the types from here.
select
    cast(null as int) as id,
    cast(null as int) as version,
    cast(null as int) as log_offset,
    cast(null as int) as metric,
    cast(null as string) as label,
    cast(null as int) as sign,
    cast(null as string) as block
where false
