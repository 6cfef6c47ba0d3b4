{#
    Returns the rows that a projection appends for the batches (after, upto] of its ledger: per group the net number of rows
    and the partial sums of each measure, in which a cancel row counts against the state row that it cancels; and, for the measures
    that keep values, per group and value how many more or fewer of it there are. `ledger_part` is 0 in a row of a group, and
    in a row of a value the place of its column among the columns of values.

    source    relation of the ledger, or a subquery of its rows
    settings  as _projection_settings returns them
    types     as _argument_types returns them
    span      {after, upto, number}: batch numbers, number that of the rows that are appended; with `after` none all is read
#}
{% macro _project(source, settings, types, span) %}
{%- set read = collapsing._sql_is_upto(source, none, span.upto, span.after) if span.after is not none
    else 'ledger_batch <= ' ~ span.upto -%}
{%- set values = collapsing._value_measures(settings.measures) | map(attribute='name') | list -%}
{%- set measures = [] -%}
{%- for measure in collapsing._measures_with_partials(settings.measures) -%}
    {%- do measures.append(dict(measure, partials=collapsing._partials_of_row(measure, types[measure.name]))) -%}
{%- endfor -%}
with

-- rows that count (tombstones do not) of the batches not read yet
changes as (
    select
        {%- for name, sql in settings.group_by.items() %}
        {{ sql }} as {{ adapter.quote(name) }},
        {%- endfor %}
        {%- for measure in measures %}
        {{ measure.argument }} as {{ adapter.quote('ledger_value_' ~ measure.name) }},
        {%- endfor %}
        ledger_sign
    from {{ source }}
    where
        ledger_sign <> 0
        and {{ read }}
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

{{ collapsing._summed_partials(settings, measures, values, span) }}
{%- else %},

-- a row for each group, and one for each group and value
merged as (
    {{ collapsing._summed_partials(settings, measures, values, span) | indent(4) }}
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


{# Returns the select that adds up the CTE `added` by group, and by group and value for the measures in `values`. #}
{% macro _summed_partials(settings, measures, values, span) -%}
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
    case {%- for value in values %} when {{ collapsing._sql_is_value(value) }} then {{ loop.index }}{% endfor %} else 0 end as ledger_part,
    {%- endif %}
    {{ collapsing._of_groups('sum(ledger_sign)', values, '0') }} as ledger_sign,
    {{ span.number }} as ledger_batch
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
    {% set column = adapter.quote(partial.name) %}
    {% if partial.name == 'ledger_value_' ~ measure %}{{ return(column) }}{% endif %}
    {% if measure in values %}{{ return('if(' ~ collapsing._sql_is_value(measure) ~ ', sum(' ~ column ~ '), null)') }}{% endif %}
    {% if not partial.dtype %}{{ return(collapsing._of_groups('sum(' ~ column ~ ')', values, 'null')) }}{% endif %}
    {{ return(collapsing._of_groups(collapsing._sum_to_keep(column, partial.dtype, this, measure), values, 'null')) }}
{% endmacro %}


{# Returns the condition that a row of _summed_partials is one of a measure's values. #}
{% macro _sql_is_value(measure) %}
    {{ return('grouping(' ~ adapter.quote('ledger_value_' ~ measure) ~ ') = 0') }}
{% endmacro %}


{# Returns SQL that is computed only in rows of groups, whose grouping set has no column of values; other rows get `otherwise`. #}
{% macro _of_groups(sql, values, otherwise) %}
    {#- a bigint of which all 64 bits are set is -1 -#}
    {% set all_bits = 2 ** (values | length) - 1 if values | length < 64 else -1 %}
    {{ return('if(grouping_id() = ' ~ all_bits ~ ', ' ~ sql ~ ', ' ~ otherwise ~ ')' if values else sql) }}
{% endmacro %}
