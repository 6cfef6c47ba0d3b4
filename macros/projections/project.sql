{#
    Returns the rows that a projection appends for the batches (after, upto] of what it reads: per group the net number of rows
    and the partials of each measure, in which a cancel row counts against the state row that it takes back; and, for the measures
    that keep values, per group and value how many more or fewer of it there are. `ledger_part` is 0 in a row of a group, and
    in a row of a value the place of its column among the columns of values.

    source    relation of the ledger or the source projection, or a subquery of its rows
    settings  as _projection_settings returns them
    types     as _types_to_sum returns them
    span      {after, upto, number}: batch numbers, number that of the rows that are appended; with `after` none all is read
    source_projection   settings of the projection that is read; none over a ledger
#}
{% macro _project(source, settings, types, span, source_projection=none) %}
{%- set read = collapsing._sql_is_upto(source, none, span.upto, span.after) if span.after is not none
    else 'ledger_batch <= ' ~ span.upto -%}
{%- set values = collapsing._value_measures(settings.measures) | map(attribute='name') | list -%}
{%- set measures = [] -%}
{%- for measure in collapsing._measures_with_partials(settings.measures) -%}
    {%- do measures.append(dict(measure, partials=collapsing._partials_of_group(measure, source_projection, types)
        if source_projection else collapsing._partials_of_row(measure, types[measure.name]))) -%}
{%- endfor -%}
with
{% if source_projection %}
-- rows of the batches not read yet: each adds its partials
{{ collapsing._added(settings.group_by, measures, source ~ '\n    where ' ~ read, are_named=false) }}
{%- else %}
{{ collapsing._added_from_ledger(source, settings, measures, read) }}
{%- endif %}
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


{# Returns the CTEs that turn rows of a ledger into what each adds to the partials of its group; the last one is `added`. #}
{% macro _added_from_ledger(ledger, settings, measures, read) -%}
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
    from {{ ledger }}
    where
        ledger_sign <> 0
        and {{ read }}
),

-- what each of them adds to its group
{{ collapsing._added(settings.group_by, measures, 'changes', are_named=true) }}
{%- endmacro %}


{#
    Returns the CTE `added`: what each of `rows` adds to the partials of its group. `are_named` says whether they have the groups by
    their names, as the CTE `changes` has; of rows of a source projection these are computed.
#}
{% macro _added(group_by, measures, rows, are_named) -%}
added as (
    select
        {%- for name, sql in group_by.items() %}
        {{ sql ~ ' as ' if not are_named }}{{ adapter.quote(name) }},
        {%- endfor %}
        {%- for measure in measures %}
        {%- for partial in measure.partials %}
        {{ partial.added }} as {{ adapter.quote(partial.name) }},
        {%- endfor %}
        {%- endfor %}
        ledger_sign
    from {{ rows }}
)
{%- endmacro %}


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


{# Returns SQL for a partial of a measure in _summed_partials. #}
{% macro _sum_in_grouping(measure, partial, values) %}
    {% set column = adapter.quote(partial.name) %}
    {% do return(column) if partial.name == 'ledger_value_' ~ measure %}
    {% do return('if(' ~ collapsing._sql_is_value(measure) ~ ', sum(' ~ column ~ '), null)') if measure in values %}
    {% do return(collapsing._of_groups('sum(' ~ column ~ ')', values, 'null')) if not partial.dtype %}
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


{#
    Returns {name, group_by, measures} of the projection that a rollup reads, or none for a projection of a ledger. Raises an error
    when it reads neither, or a ledger without cancel rows, or a measure that the other projection does not have.
#}
{% macro _source_projection(source, settings) %}
    {% set node = collapsing._model_of(source) %}
    {% set kind = collapsing._kind_if_any(node) %}
    {{ collapsing._raise(
        model.name,
        "a projection reads a ledger (a model whose settings say how its rows collapse) or another projection; '"
        ~ source.identifier ~ "' is neither"
    ) if kind is none }}
    {% if kind == 'projection' %}
        {% set source_projection = dict(collapsing._projection_settings(node), name=node.name) %}
        {% for measure in collapsing._aggregates(settings.measures) %}
            {% do collapsing._source_measure(measure, source_projection) %}
        {% endfor %}
        {{ return(source_projection) }}
    {% endif %}
    {% set ledger_settings = collapsing._ledger_settings(node) %}
    {{ collapsing._raise(
        model.name, "the ledger '" ~ node.name ~ "' has the engine " ~ ledger_settings.engine
        ~ ': it has no cancel rows, so a replaced row would count for ever. Give the ledger the engine'
        ~ ' versioned_collapsing (or collapsing, where there is no version), or aggregate'
        ~ " collapsing.final(ref('" ~ node.name ~ "')) in a model of your own"
    ) if not collapsing._engine(ledger_settings).adds_up }}
    {{ return(none) }}
{% endmacro %}


{#
    Returns Spark types: over a ledger that of each measure's argument, by the measure's name; over a projection those of the sums that the
    measures add up, by their columns. A table's property has them, of which some metastores take no more than 4,000 characters.
#}
{% macro _types_to_sum(source, settings, source_projection) %}
    {% do return(collapsing._argument_types(source, settings)) if not source_projection %}
    {% set of_source, types = collapsing._types_of(source), {} %}
    {% for measure in collapsing._aggregates(settings.measures) %}
        {% set sum = 'ledger_sum_' ~ collapsing._source_measure(measure, source_projection).name %}
        {% do types.update({sum: of_source[sum]}) if sum in of_source %}
    {% endfor %}
    {{ return(types) }}
{% endmacro %}


{#
    Returns what a row of a source projection adds to the partials of a measure, in the form of _partials_of_row. A count is never NULL:
    its sum is over as many rows as the group has.
#}
{% macro _partials_of_group(measure, source_projection, types) %}
    {% set of = collapsing._source_measure(measure, source_projection) %}
    {% set count, sum = 'ledger_count_' ~ measure.name, 'ledger_sum_' ~ measure.name %}
    {% if of.function == 'count' %}
        {% set rows = 'ledger_sign' if of.argument == '*' else adapter.quote('ledger_count_' ~ of.name) %}
        {{ return([
            {'name': count, 'added': 'ledger_sign'},
            {'name': sum, 'added': 'cast(' ~ rows ~ ' as decimal(20, 0))', 'dtype': 'decimal(30,0)'}
        ]) }}
    {% elif of.function != 'sum' %}
        {% set values = collapsing._value_measures(source_projection.measures) %}
        {% set kept = values | selectattr('argument', 'equalto', of.argument) | first %}
        {{ return([
            {'name': 'ledger_value_' ~ measure.name, 'added': adapter.quote('ledger_value_' ~ kept.name)},
            {'name': count, 'added': adapter.quote('ledger_count_' ~ kept.name)}
        ]) }}
    {% endif %}
    {% set dtype = types.get('ledger_sum_' ~ of.name, 'unknown') %}
    {% set partials = [
        {'name': count, 'added': adapter.quote('ledger_count_' ~ of.name)},
        {'name': sum, 'added': adapter.quote('ledger_sum_' ~ of.name), 'dtype': dtype}
    ] %}
    {% for name in collapsing._not_finite() if dtype == 'double' %}
        {% do partials.append({'name': name ~ measure.name, 'added': adapter.quote(name ~ of.name)}) %}
    {% endfor %}
    {{ return(partials) }}
{% endmacro %}


{# Returns the measure of a source projection that a rollup's measure adds up. Raises an error if groups cannot give it. #}
{% macro _source_measure(measure, source_projection) %}
    {% set allowed = {'sum': ['count', 'sum'], 'min': ['min'], 'max': ['max'], 'min_by': ['min_by'], 'max_by': ['max_by']} %}
    {% set name = (measure.of[0] if measure.of else measure.argument).strip('`') %}
    {% set found = source_projection.measures | selectattr('name', 'equalto', name) | list %}
    {% if not found or found[0].function not in allowed.get(measure.function, [])
        or (measure.of and not collapsing._is_ordered_alike(measure, found[0], source_projection)) %}
        {% set there = [] %}
        {% for of in source_projection.measures %}
            {% do there.append(of.name ~ ': ' ~ of.aggregate) %}
        {% endfor %}
        {{ collapsing._raise(
            model.name,
            "measure '" ~ measure.name ~ "': " ~ measure.aggregate ~ " cannot be computed from what '" ~ source_projection.name
            ~ "' keeps. '" ~ source_projection.name ~ "' is a projection: of its measures (" ~ there | join('; ') ~ ') allowed are sum(m) of a'
            ~ ' count or a sum, min(m) of a min, max(m) of a max, and max_by(m, n) of a max_by(x, y) and a max(y), min_by(m, n) likewise. Means,'
            ~ ' quotients and distinct counts of groups do not add up, and its rows are not the ledger' ~ "'s; take other measures from the ledger"
        ) }}
    {% endif %}
    {{ return(found[0]) }}
{% endmacro %}


{# Returns whether a rollup's max_by(m, n), or min_by, follows from m: n is the max, or min, of what m was ordered by. #}
{% macro _is_ordered_alike(measure, of, source_projection) %}
    {% for ordered in source_projection.measures if ordered.name == measure.by.strip('`') %}
        {{ return(ordered.function == measure.function.removesuffix('_by') and ordered.argument.strip('`') == of.by.strip('`')) }}
    {% endfor %}
    {{ return(false) }}
{% endmacro %}
