{#
    Returns the rows that a projection appends for the batches (after, upto] of what it reads: per group the net number of rows
    and the partials of each measure, in which a cancel row counts against the state row that it takes back; and, for the measures
    that keep values, per group and value how many more or fewer of it there are. `ledger_part` is 0 in a row of a group, and
    in a row of a value the place of its column among the columns of values.

    source    relation of the ledger or the source projection, or a subquery of its rows
    settings  as _projection_settings returns them
    types     over a ledger the Spark type of each measure's argument by measure name, as _argument_types returns them; over a
              projection the type of each of its columns, as _types_of returns them
    unread            {after, upto, number}: batch numbers, number that of the rows that are appended; with `after` none all is read
    source_projection     settings of the projection that is read; none over a ledger
#}
{% macro _project(source, settings, types, unread, source_projection=none) %}
{%- set read = (
    'ledger_batch > ' ~ unread.after ~ ' and ' if unread.after is not none else ''
) ~ 'ledger_batch <= ' ~ unread.upto -%}
{%- set values = collapsing._value_measures(settings.measures) | map(attribute='name') | list -%}
{%- set measures = [] -%}
{%- for measure in collapsing._measures_with_partials(settings.measures) -%}
    {%- do measures.append({
        'name': measure.name,
        'parts': collapsing._added_by_partial(measure, source_projection, types) if source_projection else collapsing._added_by_row(measure, types[measure.name])
    }) -%}
{%- endfor -%}
with

{{ collapsing._added_by_groups(source, settings, measures, read) if source_projection
    else collapsing._added_by_rows(source, settings, measures, read) }}
{%- if not values %}

{{ collapsing._summed_partials(settings, measures, values, unread) }}
{%- else %},

-- a row for each group, and one for each group and value
merged as (
    {{ collapsing._summed_partials(settings, measures, values, unread) | indent(4) }}
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


{# Returns the CTEs that turn rows of a ledger into what each adds to the partials of its group; the last one is `added`. #}
{% macro _added_by_rows(ledger, settings, measures, read) -%}
-- rows that count (tombstones do not) of the batches not read yet
changes as (
    select
        {%- for name, sql in settings.group_by.items() %}
        {{ sql }} as {{ adapter.quote(name) }},
        {%- endfor %}
        {%- for measure in collapsing._measures_with_partials(settings.measures) %}
        {{ measure.argument }} as {{ adapter.quote('ledger_value_' ~ measure.name) }},
        {%- endfor %}
        ledger_sign
    from {{ ledger }}
    where
        ledger_sign <> 0
        and {{ read }}
),

-- what each of them adds to its group
added as (
    select
        {%- for group in settings.group_by %}
        {{ adapter.quote(group) }},
        {%- endfor %}
        {{- collapsing._added_partials(measures) }}
        ledger_sign
    from changes
)
{%- endmacro %}


{# Returns the items of a select that give what a row adds to the partials of each measure, a comma after each. #}
{% macro _added_partials(measures) %}
    {%- for measure in measures %}
    {%- for part in measure.parts %}
        {{ part.added }} as {{ adapter.quote(part.name) }},
    {%- endfor %}
    {%- endfor %}
{%- endmacro %}


{# Returns the select that adds up the CTE `added` by group, and by group and value for the measures in `values`. #}
{% macro _summed_partials(settings, measures, values, unread) -%}
{%- set groups = settings.group_by.keys() | list -%}
select
    {%- for group in groups %}
    {{ adapter.quote(group) }},
    {%- endfor %}
    {%- for measure in measures %}
    {%- for part in measure.parts %}
    {{ collapsing._summed_partial(measure.name, part, values) }} as {{ adapter.quote(part.name) }},
    {%- endfor %}
    {%- endfor %}
    {%- if values %}
    case {%- for value in values %} when {{ collapsing._is_value(value) }} then {{ loop.index }}{% endfor %} else 0 end as ledger_part,
    {%- endif %}
    {{ collapsing._of_groups('sum(ledger_sign)', values, '0') }} as ledger_sign,
    {{ unread.number }} as ledger_batch
from added
{%- if values %}
group by grouping sets (
    ({{ collapsing._row_list(groups) }})
    {%- for value in values %},
    ({{ collapsing._row_list(groups + ['ledger_value_' ~ value]) }})
    {%- endfor %}
)
{%- elif groups %}
group by {{ collapsing._row_list(groups) }}
{%- else %}
having count(*) > 0
{%- endif %}
{%- endmacro %}


{# Returns SQL for a part of a measure in _summed_partials. #}
{% macro _summed_partial(measure, part, values) %}
    {% set column = adapter.quote(part.name) %}
    {% do return(column) if part.name == 'ledger_value_' ~ measure %}
    {% do return('if(' ~ collapsing._is_value(measure) ~ ', sum(' ~ column ~ '), null)') if measure in values %}
    {% do return(collapsing._of_groups('sum(' ~ column ~ ')', values, 'null')) if not part.dtype %}
    {{ return(collapsing._of_groups(collapsing._sum_to_keep(column, part.dtype, this, measure), values, 'null')) }}
{% endmacro %}


{# Returns the condition that a row of _summed_partials is one of a measure's values. #}
{% macro _is_value(measure) %}
    {{ return('grouping(' ~ adapter.quote('ledger_value_' ~ measure) ~ ') = 0') }}
{% endmacro %}


{# Returns SQL that is computed only in rows of groups, whose grouping set has no column of values; other rows get `otherwise`. #}
{% macro _of_groups(sql, values, otherwise) %}
    {{ return('if(grouping_id() = ' ~ (2 ** (values | length) - 1) ~ ', ' ~ sql ~ ', ' ~ otherwise ~ ')' if values else sql) }}
{% endmacro %}
