{#
    Returns a subquery of the merged groups: those that still have a live row. `types` as _types_of returns them, `rows` as
    _visible_rows gives them.

    Where measures keep values, the partials are added up by group and value first: what is left of a value tells whether it is there.
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
    Returns the condition that a group has live rows. Of events it never has fewer than none: the query stops where SQL of the
    settings has given a row and the row that cancels it different groups after all. Rows that bring their own sign may have more cancels.
#}
{% macro _sql_has_rows(projection) %}
    {% do return('sum(ledger_sign) <> 0') if collapsing._sums_signed_rows(projection) %}
    {% set stop = collapsing._raise_in_sql(
        "projection '" ~ projection.identifier ~ "': a group has more cancel rows than state rows. Its SQL, or a function in it, has given"
        ~ ' two copies of a row different values: build it again with --full-refresh, from SQL that does not change'
    ) %}
    {{ return('if(sum(ledger_sign) < 0, ' ~ stop ~ ', sum(ledger_sign) <> 0)') }}
{% endmacro %}


{# Returns whether a projection follows a ledger whose rows bring their own sign. #}
{% macro _sums_signed_rows(projection) %}
    {% set node = collapsing._model_of(projection) if collapsing._knows_models() else none %}
    {% set settings = collapsing._ledger_settings(collapsing._ledger_of(node)) if node is not none else none %}
    {{ return(settings is not none and settings.is_signed) }}
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
    {% do return(collapsing._sum_to_keep(adapter.quote(column), dtype, projection, column.removeprefix('ledger_sum_')))
        if column.startswith('ledger_sum_') %}
    {{ return('sum(' ~ adapter.quote(column) ~ ')') }}
{% endmacro %}


{# Returns SQL for a measure from its partials, over rows grouped as the projection is; `measures` are all of the projection. #}
{% macro _merged_measure(projection, measure, types, measures) %}
    {% do return('sum(ledger_sign)') if measure.argument == '*' %}
    {% if measure.function == 'ratio' %}
        {% set operands = [] %}
        {% for name in measure.of %}
            {% set operand = measures | selectattr('name', 'equalto', name) | first %}
            {% do operands.append(collapsing._merged_measure(projection, operand, types, measures)) %}
        {% endfor %}
        {{ return(collapsing._quotient(operands[0], operands[1])) }}
    {% elif measure.function in collapsing._value_functions() %}
        {% set kept = collapsing._value_measures(measures) | selectattr('argument', 'equalto', measure.argument) | first %}
        {{ return(collapsing._aggregate_of_values(measure.function, adapter.quote('ledger_value_' ~ kept.name))) }}
    {% endif %}
    {% set rows = 'sum(' ~ adapter.quote('ledger_count_' ~ measure.name) ~ ')' %}
    {% do return(rows) if measure.function == 'count' %}
    {% set partial = adapter.quote('ledger_sum_' ~ measure.name) %}
    {% set dtype = types.get('ledger_sum_' ~ measure.name, 'unknown') %}
    {% if dtype == 'double' %}
        {% set total = collapsing._total_of_floats(projection, measure, partial) %}
        {% set value = total ~ ' / ' ~ rows if measure.function == 'avg' else total %}
    {% else %}
        {% set total = collapsing._sum_that_fits(partial, 'decimal(38,0)' if dtype == 'decimal(30,0)' else dtype) %}
        {#- Spark's own sum of integers is a bigint -#}
        {% set value = collapsing._or_error(
            collapsing._mean(total, rows, dtype) if measure.function == 'avg'
            else 'try_cast(' ~ total ~ ' as bigint)' if dtype == 'decimal(30,0)' else total,
            projection, measure.name
        ) %}
    {% endif %}
    {#- without groups there is one row of nothing, also where there are no partials -#}
    {{ return('if(coalesce(' ~ rows ~ ', 0) = 0, null, ' ~ value ~ ')') }}
{% endmacro %}


{# Returns SQL for a measure that keeps values, from SQL for the value of a row, NULL where it has none. #}
{% macro _aggregate_of_values(function, value) %}
    {{ return({
        'distinct': 'count(' ~ value ~ ')', 'max_by': 'max(' ~ value ~ ').value_2', 'min_by': 'min(' ~ value ~ ').value_2'
    }.get(function, function ~ '(' ~ value ~ ')')) }}
{% endmacro %}


{# Returns SQL for a quotient as a double: NULL of nothing and by 0, whatever ANSI says. #}
{% macro _quotient(dividend, divisor) %}
    {{ return('try_divide(cast(' ~ dividend ~ ' as double), cast(' ~ divisor ~ ' as double))') }}
{% endmacro %}


{# Returns SQL for the sum of floats: of the finite ones, then NaN and infinities as often as they are there. #}
{% macro _total_of_floats(projection, measure, partial) %}
    {% set terms = [collapsing._or_error(
        collapsing._sum_that_fits('coalesce(' ~ partial ~ ', 0)', 'double'), projection, measure.name
    )] %}
    {% for name, sql in collapsing._not_finite().items() %}
        {% set times = 'sum(' ~ adapter.quote(name ~ measure.name) ~ ')' %}
        {% do terms.append('if(' ~ times ~ ' = 0, 0, ' ~ times ~ ' * ' ~ sql ~ ')') %}
    {% endfor %}
    {{ return('(' ~ terms | join(' + ') ~ ')') }}
{% endmacro %}


{#
    Returns SQL for a mean as Spark's avg has it: a double of integers, an interval of intervals, of decimals four digits more
    scale. A quotient has six digits of scale at least: where four more are fewer, it is taken of `steps` times as many rows, so
    that it is rounded once, at the last digit wanted. A total too large for those four digits is divided at its own scale.
#}
{% macro _mean(total, rows, dtype) %}
    {% do return('try_divide(' ~ total ~ ', ' ~ rows ~ ')') if dtype.startswith('interval') %}
    {% do return('cast(' ~ total ~ ' as double) / ' ~ rows) if not dtype.startswith('decimal') or dtype == 'decimal(30,0)' %}
    {% set scale = [collapsing._scale_of(dtype) + 4, 38] | min %}
    {% set mean = 'decimal(38, ' ~ scale ~ ')' %}
    {% set steps = 10 ** ([6 - scale, 0] | max) %}
    {% set quotient = 'try_divide(try_cast(' ~ total ~ ' as ' ~ mean ~ '), ' ~ rows ~ (' * ' ~ steps if steps > 1) ~ ')' %}
    {% set scaled = 'try_multiply(' ~ quotient ~ ', ' ~ steps ~ ')' if steps > 1 else quotient %}
    {{ return(
        'coalesce(try_cast(' ~ scaled ~ ' as ' ~ mean ~ '), try_cast(try_divide(' ~ total ~ ', ' ~ rows ~ ') as ' ~ mean ~ '))'
    ) }}
{% endmacro %}


{#
    Merges the oldest partials of a projection into a base: one row for each group, and one for each value that is kept, with what the
    batches add up to. The newest `keep_batches` stay as they are, for as_of.
#}
{% macro _optimize_projection(node, projection, keep_batches) %}
    {% set batches = collapsing._batches_of(projection) %}
    {% do collapsing._drop_covered(projection, batches) %}
    {% set old = collapsing._batches_with_rows(projection, batches) if batches else [] %}
    {% set old = old[:[old | length - keep_batches, 0] | max] %}
    {% set upto = collapsing._last_to_fold(node, projection, batches, old[-1]) if old else 0 %}
    {% if not old | select('le', upto) | list %}
        {% do collapsing._say(node.name, 'there is nothing to merge') %}
    {% else %}
        {% set merged = collapsing._merged_partials(projection, batches, upto) %}
        {% do collapsing._fold_into_base(node, projection, batches, upto, merged) %}
    {% endif %}
{% endmacro %}


{#
    Returns the batches of a projection after its base that have rows, in order. Of a number between two of them it never had the state, so that
    no base has such a number; a format with a log does not tell which these are.
#}
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
    Runs after a projection's insert: merges its partials when there are more than 16, all but the newest 8, so that reading it
    does not grow with its age and the newest states can still be asked for. `batches` are those that it had before the insert.
#}
{% macro _merge_many_partials(projection, batches) %}
    {% set states = collapsing._batches_with_rows(projection, batches) if batches.later | length >= 16 else [] %}
    {% if states | length > 16 %}
        {% set node = collapsing._model_of(projection) %}
        {% set upto = collapsing._last_read_by_all(node, projection, batches, states[-9]) %}
        {% if states | select('le', upto) | list %}
            {% do collapsing._drop_covered(projection, batches) %}
            {% do collapsing._say(node.name, 'merging the partials of the batches up to ' ~ upto) %}
            {% do collapsing._write_base(projection, upto, collapsing._merged_partials(projection, batches, upto)) %}
        {% endif %}
    {% endif %}
{% endmacro %}
