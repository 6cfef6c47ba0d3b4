{#
    Returns a subquery of the merged groups: those that still have a live row. `types` as _types_of returns them, `rows` as
    _visible_rows gives them.

    Where measures keep values, the partial sums are added up by group and value first: what is left of a value tells whether it is there.
#}
{% macro _final_of_projection(projection, settings, types, rows) %}
{%- set groups = settings.group_by.keys() | list -%}
{%- set values = collapsing._value_measures(settings.measures) -%}
(
    select
        {%- for group in groups %}
        {{ adapter.quote(group) }},
        {%- endfor %}
        {%- for measure in settings.measures %}
        {{ collapsing._merged_measure(projection, measure, types, settings.measures) }} as {{ adapter.quote(measure.name) }}
        {{- ',' if not loop.last }}
        {%- endfor %}
    from {{ collapsing._partials_by_value(projection, rows, settings, groups, types) | indent(4) if values else rows }}
    {%- if values %}
    where
        ledger_part = 0
        {%- for value in values %}
        or {{ adapter.quote('ledger_count_' ~ value.name) }} > 0
        {%- endfor %}
    {%- endif %}
    {%- if groups %}
    group by {{ collapsing._column_list(groups) }}
    {%- endif %}
    having {{ collapsing._sql_has_rows(projection) }}
)
{%- endmacro %}


{#
    Returns the condition that a group has live rows. Rows that bring their own sign may have more cancel rows than state rows; of events
    that stops the query, because SQL of the settings has put a row and its cancel row into different groups.
#}
{% macro _sql_has_rows(projection) %}
    {% if collapsing._sums_signed_rows(projection) %}{{ return('sum(ledger_sign) <> 0') }}{% endif %}
    {% set stop = collapsing._raise_in_sql(
        "projection '" ~ projection.identifier ~ "': a group has more cancel rows than state rows. Its SQL, or a function in it, has given"
        ~ ' two copies of a row different values: rebuild it with --full-refresh, from SQL that does not change'
    ) %}
    {{ return('if(sum(ledger_sign) < 0, ' ~ stop ~ ', sum(ledger_sign) <> 0)') }}
{% endmacro %}


{# Returns whether a projection follows a ledger whose rows bring their own sign. #}
{% macro _sums_signed_rows(projection) %}
    {% set node = collapsing._model_of(projection) if collapsing._knows_models() else none %}
    {% set ledgers = collapsing._sources_of(node) if node is not none else [] %}
    {{ return(ledgers | length > 0 and collapsing._ledger_settings(ledgers[0]).is_signed) }}
{% endmacro %}


{# Returns a subquery of one row for each group, and one for each group and value, with what the batches add up to. #}
{% macro _partials_by_value(projection, rows, settings, groups, types) %}
{%- set values, others = [], ['ledger_part', 'ledger_sign', 'ledger_batch'] -%}
{%- for measure in collapsing._value_measures(settings.measures) -%}
    {%- do values.append('ledger_value_' ~ measure.name) -%}
{%- endfor -%}
(
    select
        {{ collapsing._select_list(groups + values + ['ledger_part']) }},
        {%- for name in types if name.startswith('ledger_') and name not in values + others %}
        {{ collapsing._sum_of_partials(projection, name, types[name]) }} as {{ adapter.quote(name) }},
        {%- endfor %}
        sum(ledger_sign) as ledger_sign
    from {{ rows }}
    group by {{ collapsing._column_list(groups + values + ['ledger_part']) }}
)
{%- endmacro %}


{# Returns SQL for what a column of a projection adds up to, over rows of one group, or of one group and value. #}
{% macro _sum_of_partials(projection, column, dtype) %}
    {% if column.startswith('ledger_sum_') %}
        {{ return(collapsing._sum_to_keep(adapter.quote(column), dtype, projection, column.removeprefix('ledger_sum_'))) }}
    {% endif %}
    {{ return('sum(' ~ adapter.quote(column) ~ ')') }}
{% endmacro %}


{# Returns SQL for a measure from its partial sums, over rows grouped as the projection is; `measures` are all of it. #}
{% macro _merged_measure(projection, measure, types, measures) %}
    {% if measure.argument == '*' %}{{ return('sum(ledger_sign)') }}{% endif %}
    {% if measure.function in collapsing._value_functions() %}
        {% set kept = collapsing._value_measures(measures) | selectattr('argument', 'equalto', measure.argument) | first %}
        {% set function = 'count' if measure.function == 'distinct' else measure.function %}
        {{ return(function ~ '(' ~ adapter.quote('ledger_value_' ~ kept.name) ~ ')') }}
    {% endif %}
    {% set rows = 'sum(' ~ adapter.quote('ledger_count_' ~ measure.name) ~ ')' %}
    {% if measure.function == 'count' %}{{ return(rows) }}{% endif %}
    {% set partial = adapter.quote('ledger_sum_' ~ measure.name) %}
    {#- of a table that is not there no type is known -#}
    {% set dtype = types.get('ledger_sum_' ~ measure.name) or 'double' %}
    {% if dtype == 'double' %}
        {% set value = 'sum(' ~ partial ~ ')' ~ (' / ' ~ rows if measure.function == 'avg') %}
    {% else %}
        {% set total = collapsing._sum_that_fits(partial, 'decimal(38,0)' if dtype == 'decimal(30,0)' else dtype) %}
        {#- Spark's own sum of integers is a bigint -#}
        {% set value = collapsing._or_error(
            collapsing._mean(total, rows, dtype) if measure.function == 'avg'
            else 'try_cast(' ~ total ~ ' as bigint)' if dtype == 'decimal(30,0)' else total,
            projection, measure.name
        ) %}
    {% endif %}
    {#- without groups there is one row of nothing, also where there are no partial sums -#}
    {{ return('if(coalesce(' ~ rows ~ ', 0) = 0, null, ' ~ value ~ ')') }}
{% endmacro %}


{#
    Returns SQL for a mean as Spark's avg has it: a double of integers, an interval of intervals, of decimals four digits more
    scale. A quotient has six digits of scale at least: where four more are fewer, it is taken of `steps` times as many rows, so
    that it is rounded once, at the last digit wanted. A total too large for those four digits is divided at its own scale.
#}
{% macro _mean(total, rows, dtype) %}
    {% if dtype.startswith('interval') %}{{ return('try_divide(' ~ total ~ ', ' ~ rows ~ ')') }}{% endif %}
    {% if not dtype.startswith('decimal') or dtype == 'decimal(30,0)' %}
        {{ return('cast(' ~ total ~ ' as double) / ' ~ rows) }}
    {% endif %}
    {% set scale = [collapsing._scale_of(dtype) + 4, 38] | min %}
    {% set mean = 'decimal(38, ' ~ scale ~ ')' %}
    {% set steps = 10 ** ([6 - scale, 0] | max) %}
    {% set quotient = 'try_divide(try_cast(' ~ total ~ ' as ' ~ mean ~ '), ' ~ rows ~ (' * ' ~ steps if steps > 1) ~ ')' %}
    {% set scaled = 'try_multiply(' ~ quotient ~ ', ' ~ steps ~ ')' if steps > 1 else quotient %}
    {{ return(
        'coalesce(try_cast(' ~ scaled ~ ' as ' ~ mean ~ '), try_cast(try_divide(' ~ total ~ ', ' ~ rows ~ ') as ' ~ mean ~ '))'
    ) }}
{% endmacro %}


{# Returns the batches of a projection after its base that have rows, in order: a format with a log does not list them. #}
{% macro _batches_with_rows(projection, batches) %}
    {{ return(collapsing._rows_of(
        'select distinct ledger_batch from ' ~ projection ~ ' where ledger_batch > ' ~ batches.base ~ ' order by ledger_batch'
    ) | map('first') | map('int') | list) }}
{% endmacro %}


{#
    Returns the rows of a projection's base. Groups of events that have no rows left are left out, with any residue of floats; of signed rows
    those that add up to nothing: where a cancel row is here before its state row, there are no rows, and yet a sum.
#}
{% macro _merged_partials(projection, batches, upto) %}
{%- set merged, kept, counts, is_signed = [], [], [], collapsing._sums_signed_rows(projection) -%}
{%- for column in collapsing._describe(projection).columns -%}
    {%- set name = adapter.quote(column.name) -%}
    {%- if column.name == 'ledger_batch' -%}
        {%- do merged.append(-upto ~ ' as ledger_batch') -%}
    {%- elif column.name == 'ledger_part' or column.name.startswith('ledger_value_') or not column.name.startswith('ledger_') -%}
        {%- do merged.append(name) -%}
        {%- do kept.append(column.name) -%}
    {%- else -%}
        {%- do merged.append(collapsing._sum_of_partials(projection, column.name, column.dtype) ~ ' as ' ~ name) -%}
        {%- if not column.name.startswith('ledger_sum_') -%}
            {%- do counts.append('coalesce(sum(' ~ name ~ '), 0) <> 0') -%}
        {%- elif is_signed -%}
            {#- an interval does not compare with 0 -#}
            {%- do counts.append('coalesce(try_sum(' ~ name ~ ') <> -try_sum(' ~ name ~ '), false)') -%}
        {%- endif -%}
    {%- endif -%}
{%- endfor -%}
select /*+ coalesce(1) */
    {{ merged | join(',\n    ') }}
from {{ projection }}
where
    {{ collapsing._sql_is_upto(projection, batches, upto) }}
{%- if kept %}
group by {{ collapsing._column_list(kept) }}
{%- endif %}
having
    {{ counts | join('\n    or ') }}
{% endmacro %}


{#
    Merges a projection's batches when there are more than 16, all but the newest 8, so that the cost of reading it does not grow with
    its age. It runs after the insert; `batches` are those that the projection had before.
#}
{% macro _merge_many_partials(projection, batches) %}
    {% set numbers = collapsing._batches_with_rows(projection, batches) if batches.later | length >= 16 else [] %}
    {% if numbers | length > 16 %}
        {% set upto = numbers[-9] %}
        {% do collapsing._drop_covered(projection, batches) %}
        {% do collapsing._say(model.name, 'merging the partial sums of the batches up to ' ~ upto) %}
        {% do collapsing._write_base(projection, upto, collapsing._merged_partials(projection, batches, upto)) %}
    {% endif %}
{% endmacro %}
