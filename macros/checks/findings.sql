{#
    Returns a query of what should not be in a ledger, one row per finding, as the test `collapsed` lists them. A surplus of signed rows
    (ClickHouse's logical error) means that rows were inserted twice, or that some are missing.
#}
{% macro _findings(ledger, settings, columns) %}
{%- set key = collapsing._column_list(settings.key) -%}
{%- set is_signed = settings.is_signed -%}
{%- set by = key ~ (', ' ~ collapsing._column_list(settings.version) if is_signed and settings.version else '') -%}
{%- set figures = collapsing._row_as_json(settings.key)
    ~ ' as ledger_key,\n    count_if(ledger_sign = 1) as states, count_if(ledger_sign = -1) as cancels' -%}
select
    'surplus' as finding,
    {{ figures }}
from {{ ledger }}
group by {{ by }}
having
    {{ 'abs(sum(ledger_sign)) > 1' if is_signed
        else 'sum(ledger_sign) <> if(max_by(ledger_sign, struct(ledger_batch, ledger_sign)) = 1, 1, 0)' }}
{%- if not is_signed %}
union all
select
    'cancel_without_state' as finding,
    {{ figures }}
from {{ ledger }}
where ledger_sign <> 0
group by {{ collapsing._column_list(collapsing._comparable_columns(columns) | reject('in', collapsing._system_columns()) | list) }}
having sum(ledger_sign) < 0
{%- endif %}
{%- set engine = collapsing._engine(settings) %}
{%- if engine.tombstones %}
union all
select
    'versions_not_rising' as finding,
    {{ figures }}
from (
    select
        *,
        lag(struct({{ collapsing._column_list(settings.version) }}, ledger_sign = 0)) over (
            partition by {{ key }} order by ledger_batch
        ) as ledger_before
    from {{ ledger }}
    where ledger_sign <> -1
)
where {{ adapter.quote(settings.key[0]) }} is not null and struct({{ collapsing._column_list(settings.version) }}, ledger_sign = 0) <= ledger_before
group by {{ key }}
{%- endif %}
{% endmacro %}
