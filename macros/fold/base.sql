{# Returns a subquery of the rows of the batches up to `upto`, without those that were taken back. #}
{% macro _rows_to_fold(ledger, settings, batches, upto, undone) -%}
{%- set skipped = undone | selectattr(0, 'le', upto) | sum(start=[]) -%}
(
        select *
        from {{ ledger }}
        where
            {{ collapsing._sql_is_upto(ledger, batches, upto) }}
            {%- if skipped and not collapsing._engine(settings).keeps_every_row %}
            and ledger_batch not in ({{ skipped | join(', ') }})
            {%- endif %}
    )
{%- endmacro %}


{#
    Returns the rows of a ledger's base, in the order of its key.

    rows     subquery of the rows that it stands for
    columns  names of the table's columns, in their order
    upto     the last batch that it stands for
#}
{% macro _base_rows(rows, settings, columns, upto) %}
{%- set key, engine = collapsing._column_list(settings.key), collapsing._engine(settings) -%}
select /*+ repartition_by_range({{ key }}) */
    {%- for column in columns %}
    {{ -upto ~ ' as ledger_batch' if column == 'ledger_batch' else adapter.quote(column) }}{{ ',' if not loop.last }}
    {%- endfor %}
from (
    {%- if engine.keeps_every_row %}
    -- what is left of each key keeps its order
    select
        {{ collapsing._select_list(columns | reject('equalto', 'ledger_place')) }},
        row_number() over (partition by {{ key }} order by ledger_batch, ledger_place) as ledger_place
    from {{ engine.collapsed(rows, settings) }} as collapsed
    {%- else %}
    -- what each key has seen last: its live row or its tombstone
    select *
    from {{ collapsing._first_rows(rows, settings.key, engine.last_state) }}
    where ledger_sign in (0, 1)
    {%- endif %}
)
{%- if settings.tombstone_retention is not none %}
{%- set version = adapter.quote(settings.version[0]) %}
where ledger_sign <> 0 or coalesce({{ version }} >= {{ collapsing._oldest_to_retain(rows, version, settings) }}, true)
{%- endif %}
sort by {{ key }}
{% endmacro %}


{# Returns a subquery of the least version of a tombstone that is kept; NaN and infinity are no versions to count back from. #}
{% macro _oldest_to_retain(rows, version, settings) -%}
{%- set oldest = 'max(' ~ version ~ ') - (' ~ settings.tombstone_retention ~ ')' -%}
(
    select if({{ oldest }} > max({{ version }}), {{ collapsing._raise_in_sql(
        "ledger '" ~ settings.model ~ "': setting 'tombstone_retention' must not be negative; given: " ~ settings.tombstone_retention
    ) }}, {{ oldest }})
    from {{ rows }} as folded
    where cast({{ version }} as string) not in ('NaN', 'Infinity')
)
{%- endmacro %}


{# Returns a subquery of the last state of each key among `rows`, where that is live and not a tombstone or a cancel row. #}
{% macro _live_last_states(rows, settings) %}
    {% set last_states = collapsing._first_rows(rows, settings.key, collapsing._engine(settings).last_state) %}
    {{ return('(select * from ' ~ last_states ~ ' where ledger_sign = 1)') }}
{% endmacro %}


{# Returns a subquery of the first row by `order` among the rows of each value of the columns `by`. #}
{% macro _first_rows(rows, by, order) -%}
(
    select *
    from (
        select
            *,
            row_number() over (partition by {{ collapsing._column_list(by) }} order by {{ order }}) as ledger_rank
        from {{ rows }}
    )
    where ledger_rank = 1
)
{%- endmacro %}
