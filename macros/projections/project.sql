{#
    Returns the query of partial sums of rows of a ledger: per group the net number of rows and the partial sums of each measure,
    in which a cancel row counts against the state row that it cancels; and, for measures that keep values, per group and value
    how many more or fewer of it there are. `ledger_part` is 0 in a row of a group, and in a row of a value the place of its
    column among the columns of values.

    types  as _argument_types returns them
    read   the condition on the rows of the ledger that are summed
    zone   the time zone that the session must have, if it matters
#}
{% macro _project(ledger, settings, types, read, zone=none) %}
{%- set types = dict(zip(settings.measures | map(attribute='name'), types)) -%}
{%- set of_values, measures = collapsing._value_measures(settings.measures), [] -%}
{%- set values = of_values | map(attribute='name') | list -%}
{#- those with partial sums of their own: not count(*), which is the sign, nor those that share values -#}
{%- for measure in settings.measures
    if measure in of_values or (measure.function in ['count', 'sum', 'avg'] and measure.argument != '*') -%}
    {%- do measures.append(dict(measure, partials=collapsing._partials_of_row(measure, types[measure.name]))) -%}
{%- endfor -%}
with

-- rows that count: tombstones and notes do not
changes as (
    select
        {%- for name, sql in settings.group_by.items() %}
        {{ sql }} as {{ adapter.quote(name) }},
        {%- endfor %}
        {%- for measure in measures %}
        {{ measure.argument }} as {{ adapter.quote('ledger_value_' ~ measure.name) }},
        {%- endfor %}
        ledger_sign
    from {{ ledger }}
    where
        ledger_sign <> 0
        and {{ read }}
        {%- if zone %}
        and {{ collapsing._sql_is_in_zone(this, zone) }}
        {%- endif %}
),

-- what each of them adds to its group
added as (
    select
        {%- for name in settings.group_by %}
        {{ adapter.quote(name) }},
        {%- endfor %}
        {%- for measure in measures %}
        {%- for partial in measure.partials %}
        {{ partial.added }} as {{ adapter.quote(partial.name) }},
        {%- endfor %}
        {%- endfor %}
        ledger_sign
    from changes
)
{%- if not values %}

{{ collapsing._summed_partials(settings, measures, values) }}
{%- else %},

-- a row for each group, and one for each group and value
merged as (
    {{ collapsing._summed_partials(settings, measures, values) | indent(4) }}
)

select *
from merged
where
    ledger_part = 0
    {%- for value in values %}
    or {{ adapter.quote('ledger_count_' ~ value) }} <> 0
    {%- endfor %}
{%- endif %}
{% endmacro %}


{# Returns a condition that stops a query in a session of another time zone than that which a projection was created in. #}
{% macro _sql_is_in_zone(projection, zone) %}
    {% set before = "collapsing: projection '" ~ projection.identifier ~ "': the session's time zone is " %}
    {% set after = ', and its rows were computed in ' ~ zone ~ ', on which its SQL may depend: set it back, or run'
        ~ ' --full-refresh' %}
    {{ return(
        'if(current_timezone() <> ' ~ collapsing._text_literal(zone) ~ ', raise_error(concat(' ~ collapsing._text_literal(before)
        ~ ', current_timezone(), ' ~ collapsing._text_literal(after) ~ ')), true)'
    ) }}
{% endmacro %}


{# Returns the select that adds up the CTE `added` by group, and by group and value for the measures in `values`. #}
{% macro _summed_partials(settings, measures, values) -%}
{%- set groups = settings.group_by.keys() | list -%}
select
    {%- for group in groups %}
    {{ adapter.quote(group) }},
    {%- endfor %}
    {%- for measure in measures %}
    {%- for partial in measure.partials %}
    {{ collapsing._sum_in_grouping(measure.name, partial, values) }} as {{ adapter.quote(partial.name) }},
    {%- endfor %}
    {%- endfor %}
    {%- if values %}
    case
        {%- for value in values %}
        when grouping({{ adapter.quote('ledger_value_' ~ value) }}) = 0 then {{ loop.index }}
        {%- endfor %}
        else 0
    end as ledger_part,
    {%- endif %}
    {{ collapsing._of_groups('sum(ledger_sign)', values, '0') }} as ledger_sign
from added
{%- if values %}
group by grouping sets (
    ({{ collapsing._column_list(groups) }})
    {%- for value in values %},
    ({{ collapsing._column_list(groups + ['ledger_value_' ~ value]) }})
    {%- endfor %}
)
{%- elif groups %}
group by {{ collapsing._column_list(groups) }}
{%- else %}
having count(*) > 0
{%- endif %}
{%- endmacro %}


{# Returns SQL for a partial sum of a measure in _summed_partials. #}
{% macro _sum_in_grouping(measure, partial, values) %}
    {% set column, value = adapter.quote(partial.name), adapter.quote('ledger_value_' ~ measure) %}
    {% if column == value %}{{ return(column) }}{% endif %}
    {% if measure in values %}{{ return('if(grouping(' ~ value ~ ') = 0, sum(' ~ column ~ '), null)') }}{% endif %}
    {% set total = collapsing._sum_to_keep(column, partial.dtype, this, measure) if partial.dtype else 'sum(' ~ column ~ ')' %}
    {{ return(collapsing._of_groups(total, values, 'null')) }}
{% endmacro %}


{# Returns SQL that is computed only in rows of groups, whose grouping set has no column of values; other rows get `otherwise`. #}
{% macro _of_groups(sql, values, otherwise) %}
    {#- a bigint of which all 64 bits are set is -1 -#}
    {% set all_bits = 2 ** (values | length) - 1 if values | length < 64 else -1 %}
    {{ return('if(grouping_id() = ' ~ all_bits ~ ', ' ~ sql ~ ', ' ~ otherwise ~ ')' if values else sql) }}
{% endmacro %}


{# Returns the condition on the rows of a ledger that a run of a projection sums; `act` as _projection_act returns it. #}
{% macro _sql_is_summed(act, own, ledger) %}
    {% if act in ['create', 'whole'] %}{{ return(collapsing._sql_is_visible(ledger, upto=ledger.last)) }}{% endif %}
    {{ return('ledger_batch > ' ~ own.last ~ ' and ledger_batch <= ' ~ ledger.last) }}
{% endmacro %}


{# Returns the query of the rows that a run of a projection commits; `act` as _projection_act returns it. #}
{% macro _rows_to_commit(act, own, ledger, settings) -%}
{%- set types, zone = collapsing._property(own, 'types').split('|'), collapsing._property(own, 'zone') -%}
{%- set sums = collapsing._project(ledger.relation, settings, types, collapsing._sql_is_summed(act, own, ledger), zone) -%}
{{ collapsing._merged_partials(own, sums, settings) if act == 'merge' else sums }}
{%- if collapsing._is_log(own) or act != 'append' %}
union all
-- a row that counts for nothing: a log does not list a batch without rows, and no reader sees a compacted batch without
{{ collapsing._row_of_nulls(own.columns | rejectattr('name', 'equalto', 'ledger_batch'), {'ledger_sign': 0}) }}
{%- endif %}
{%- endmacro %}


{#
    Returns the query of what a projection has and of new `sums`, added up. Groups of events that have no rows left are left out,
    with any residue of floats; of signed rows those that add up to nothing: where a cancel row is here before its state row,
    there are no rows, and yet a sum.
#}
{% macro _merged_partials(own, sums, settings) -%}
{%- set columns = own.columns | rejectattr('name', 'equalto', 'ledger_batch') | map(attribute='name') | list -%}
{%- set rows -%}
(
        select {{ collapsing._column_list(columns) }}
        from {{ own.relation }}
        where {{ collapsing._sql_is_visible(own, upto=own.last) }}
        union all
        select {{ collapsing._column_list(columns) }}
        from (
            {{ sums }}
        )
    )
{%- endset -%}
select /*+ coalesce(1) */ {{ collapsing._column_list(columns) }}
from {{ collapsing._added_partials(own.relation, rows, settings, collapsing._types_among(own.columns)) }}
where
    ledger_sign <> 0
    {%- for name in columns if name.startswith('ledger_count_') %}
    or {{ adapter.quote(name) }} <> 0
    {%- endfor %}
    {#- an interval does not compare with 0 -#}
    {%- for name in columns if name.startswith('ledger_sum_') and collapsing._sums_signed_rows(own.relation) %}
    or {{ adapter.quote(name) }} <> -{{ adapter.quote(name) }}
    {%- endfor %}
{%- endmacro %}
