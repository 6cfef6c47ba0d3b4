{#
    Returns a query of the groups in which a projection is not the plain aggregate of its ledger: `only_in` ('actual' for the
    projection's own row, 'expected' for the aggregate's), group columns, measures; the groups in order. Of both it reads the
    batches that the projection has read now: a run may append others meanwhile.

    projection  relation of the projection
    node        its node in the graph
    tolerance   the share of its value by which a float measure may differ
#}
{% macro _differs_from_recompute(projection, node, tolerance) %}
{%- set settings, table = collapsing._projection_settings(node), collapsing._table(projection) -%}
{%- set groups = settings.group_by.keys() | list -%}
{%- set partials = '(select * from ' ~ collapsing._visible_rows(projection) ~ ' where ledger_batch <= ' ~ table.last ~ ')' -%}
{%- set merged = collapsing._final_of_projection(projection, settings, collapsing._types_among(table.columns), partials) -%}
{%- set same = collapsing._same_group(groups, settings.measures, merged, tolerance) -%}
with

-- what the projection has added up
actual as (
    select * from {{ merged }}
),

-- the rows that it has read, and the group that each falls in
live as (
    select
        {%- for sql in settings.group_by.values() %}
        {{ sql }} as ledger_group_{{ loop.index }},
        {%- endfor %}
        *
    from {{ collapsing._final_of_source(node, table) }}
),

-- their aggregate, from nothing
expected as (
    select
        {%- for group in groups %}
        ledger_group_{{ loop.index }} as {{ adapter.quote(group) }},
        {%- endfor %}
        {%- for measure in settings.measures %}
        {{ measure.aggregate }} as {{ adapter.quote(measure.name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    from live
    {%- for group in groups %}
    {{ 'group by ' if loop.first }}ledger_group_{{ loop.index }}{{ ',' if not loop.last }}
    {%- else %}
    having count(*) > 0
    {%- endfor %}
)

select 'actual' as only_in, actual.*
from actual
left anti join expected on {{ same }}
union all
select 'expected' as only_in, expected.*
from expected
left anti join actual on {{ same }}
order by {{ collapsing._column_list(groups + ['only_in']) }}
{% endmacro %}


{#
    Returns the final of the ledger that a projection reads, with --defer that of another environment where there is no other,
    as of the last batch that it has read. Batches that the ledger does not have are for the caller to find. `table` is the
    projection's handle.
#}
{% macro _final_of_source(node, table) %}
    {% set ledger = collapsing._sources_of(node)[0] %}
    {% set is_deferred = ledger.defer_relation and collapsing._relation_if_any(ledger) is none %}
    {% set source = collapsing._built_relation(ledger.defer_relation if is_deferred else ledger) %}
    {% if table.compacted is not none %}
        {{ return(collapsing.final(source, as_of=[table.last, collapsing._table(source).last] | min)) }}
    {% endif %}
    {#- a projection that has read nothing shows nothing, which is right of an empty ledger alone, and under --empty -#}
    {{ return('(select * from ' ~ collapsing.final(source) ~ (' where false)' if flags.EMPTY else ')')) }}
{% endmacro %}


{# Returns the condition that `actual` and `expected` are one group with the same measures; both have the columns of `merged`. #}
{% macro _same_group(groups, measures, merged, tolerance) %}
    {% set columns = collapsing._columns_of_query('select * from ' ~ merged) %}
    {% set parts, floats = [], columns | selectattr('dtype', 'in', ['double', 'float']) | map(attribute='name') | list %}
    {% for name in groups + measures | map(attribute='name') | list %}
        {% set one, other = 'actual.' ~ adapter.quote(name), 'expected.' ~ adapter.quote(name) %}
        {% set exact = one ~ ' <=> ' ~ other %}
        {% if name in groups or name not in floats %}
            {% do parts.append(exact) %}
        {% else %}
            {#- relative to the smaller one: an infinite or NaN bound would let everything pass. Not below 1: a sum that is 0 may
                keep a residue of what was cancelled -#}
            {% set bound = tolerance ~ 'D * greatest(1D, least(abs(' ~ one ~ '), abs(' ~ other ~ ')))' %}
            {% do parts.append(
                '(' ~ exact ~ ' or abs(' ~ one ~ ' - ' ~ other ~ ") < least(double('infinity'), " ~ bound ~ '))'
            ) %}
        {% endif %}
    {% endfor %}
    {{ return(parts | join('\n    and ')) }}
{% endmacro %}


{#
    Returns a query of what should not be in a ledger, one row per violation, as the test `collapsed` lists them. A surplus of
    signed rows (ClickHouse's logical error) means that rows were inserted twice, or that some are missing. `ledger` is what can
    stand behind `from` for its rows, `columns` are those of its table.
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
group by {{ collapsing._column_list(
    collapsing._comparable_columns(columns) | reject('in', collapsing._system_columns()) | list
) }}
having sum(ledger_sign) < 0
{%- endif %}
{%- if collapsing._engine(settings).tombstones %}
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
where struct({{ collapsing._column_list(settings.version) }}, ledger_sign = 0) <= ledger_before
group by {{ key }}
{%- endif %}
{% endmacro %}
