{# Delta and Iceberg, where an insert is one commit of the format and the statement itself asks whether another one came first. #}


{# Returns the insert of a commit into `target`, the table or a branch of it, which stops where another commit came first. #}
{% macro _guarded_insert(table, target, number, rows, begins, source, beside_runs) %}
insert into {{ target }}
select
    {{ collapsing._columns_to_store(table, number) }}
from (
{{ rows }}
)
where
    {{ collapsing._is_unchanged(table, target, beside_runs) }}
    {%- if source %}
    and (
        select if(min(ledger_batch) >= {{ source.least }}, true, {{ collapsing._raise_in_sql(collapsing._refusal(source.table)) }})
        from {{ source.table.relation }}
        -- without the last one that it reads the table has been created again
        where ledger_batch < {{ source.least }} or ledger_batch = {{ source.numbers | last }}
    )
    {%- endif %}
{%- if begins is not none %}
union all
{{ collapsing._row_of_nulls(
    table.columns, {'ledger_sign': 0, 'ledger_note': collapsing._note({'kind': "'created'"}), 'ledger_batch': -begins}
) }}
where {{ collapsing._is_unchanged(table, target, beside_runs) }}
{%- endif %}
{% endmacro %}


{#
    Returns SQL that is true while a table has the numbers that were listed, and stops the statement otherwise. It reads only the numbers
    that would say so: no file of another batch is opened.
#}
{% macro _is_unchanged(table, target, beside_runs) -%}
{%- set first = table.numbers | first if table.numbers else 1 -%}
{%- set last = table.numbers | last if table.numbers else 0 -%}
(
        select
            if(
                coalesce(min(ledger_batch), 1) <> {{ first }}{{ ' or coalesce(max(ledger_batch), 0) > ' ~ last if not beside_runs }},
                {{ collapsing._raise_in_sql(collapsing._refusal(table)) }},
                true
            )
        from {{ target }}
        where ledger_batch <= {{ first }}{{ ' or ledger_batch > ' ~ last if not beside_runs }}
    )
{%- endmacro %}


{# Commits to an Iceberg table: a branch of the run's own, which main follows in one act unless it has moved. #}
{% macro _commit_iceberg(table, number, rows, begins, source, beside_runs) %}
    {% set branch = 'run_' ~ (invocation_id ~ '_' ~ number) | replace('-', '_') %}
    {% do collapsing._execute('alter table ' ~ table.relation ~ ' create branch ' ~ branch) %}
    {% do collapsing._execute(collapsing._guarded_insert(
        table, table.relation ~ '.branch_' ~ branch, number, rows, begins, source, beside_runs
    )) %}
    {% if table.compacted is none %}{% do collapsing._check_identity(table) %}{% endif %}
    {% set catalog = table.relation.database ~ '.' if table.relation.database else '' %}
    {% set name = table.relation.schema ~ '.' ~ table.relation.identifier %}
    {% do collapsing._execute(
        'call ' ~ catalog ~ 'system.fast_forward(' ~ collapsing._text_literal(name) ~ ", 'main', '" ~ branch ~ "')"
    ) %}
    {% do collapsing._execute('alter table ' ~ table.relation ~ ' drop branch ' ~ branch) %}
{% endmacro %}


{# Drops the branches that killed runs have left of an Iceberg table. After a commit: it refuses all that began before it. #}
{% macro _drop_old_branches(table) %}
    {% set old %}
        select refs.name
        from {{ table.relation }}.refs as refs
        inner join {{ table.relation }}.snapshots as snapshots on refs.snapshot_id = snapshots.snapshot_id
        where startswith(refs.name, 'run_') and snapshots.committed_at < current_timestamp() - interval 1 day
    {% endset %}
    {% for row in collapsing._rows_of(old) %}
        {% do collapsing._execute('alter table ' ~ table.relation ~ ' drop branch if exists ' ~ adapter.quote(row[0])) %}
    {% endfor %}
{% endmacro %}
