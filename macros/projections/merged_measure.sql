{#
    Returns SQL for a measure from its parts, over rows grouped as the projection is; `types` as _types_of returns them, `values`
    as _value_measures.
#}
{% macro _merged_measure(projection, measure, types, values) %}
    {% if measure.argument == '*' %}
        {{ return('sum(ledger_sign)') }}
    {% elif measure.function in ['min', 'max', 'distinct'] %}
        {% set kept = values | selectattr('argument', 'equalto', measure.argument) | first %}
        {% set function = 'count' if measure.function == 'distinct' else measure.function %}
        {{ return(function ~ '(' ~ adapter.quote('ledger_value_' ~ kept.name) ~ ')') }}
    {% endif %}
    {% set rows = 'sum(' ~ adapter.quote('ledger_count_' ~ measure.name) ~ ')' %}
    {% if measure.function == 'count' %}
        {{ return(rows) }}
    {% endif %}
    {% set part = adapter.quote('ledger_sum_' ~ measure.name) %}
    {% set dtype = types.get('ledger_sum_' ~ measure.name, 'unknown') %}
    {% if dtype == 'double' %}
        {% set total = collapsing._total_of_floats(projection, measure, part) %}
        {% set value = total ~ ' / ' ~ rows if measure.function == 'avg' else total %}
    {% else %}
        {% set total = collapsing._sum_that_fits(part, 'decimal(38,0)' if dtype == 'decimal(30,0)' else dtype) %}
        {% set value = collapsing._or_error(
            collapsing._mean(total, rows, dtype) if measure.function == 'avg' else collapsing._total(total, dtype),
            projection, measure.name
        ) %}
    {% endif %}
    {{ return('if(' ~ rows ~ ' = 0, null, ' ~ value ~ ')') }}
{% endmacro %}


{# Returns SQL for a sum in the type that Spark's own sum has: bigint of integers. NULL where it does not fit. #}
{% macro _total(total, dtype) %}
    {{ return('try_cast(' ~ total ~ ' as bigint)' if dtype == 'decimal(30,0)' else total) }}
{% endmacro %}


{# Returns SQL for the sum of floats: of the finite ones, then NaN and infinities as often as they are there, as addition has it. #}
{% macro _total_of_floats(projection, measure, part) %}
    {% set terms = [collapsing._or_error(
        collapsing._sum_that_fits('coalesce(' ~ part ~ ', 0)', 'double'), projection, measure.name
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
    {% if dtype.startswith('interval') %}
        {{ return('try_divide(' ~ total ~ ', ' ~ rows ~ ')') }}
    {% elif not dtype.startswith('decimal') or dtype == 'decimal(30,0)' %}
        {{ return('cast(' ~ total ~ ' as double) / ' ~ rows) }}
    {% endif %}
    {% set scale = [dtype.split(',')[1].rstrip(')') | int + 4, 38] | min %}
    {% set mean = 'decimal(38, ' ~ scale ~ ')' %}
    {% set steps = 10 ** ([6 - scale, 0] | max) %}
    {{ return(
        'coalesce(try_cast(try_divide(try_cast(' ~ total ~ ' as ' ~ mean ~ '), ' ~ rows ~ (' * ' ~ steps if steps > 1) ~ ')'
        ~ (' * ' ~ steps if steps > 1) ~ ' as ' ~ mean ~ '), try_cast(try_divide(' ~ total ~ ', ' ~ rows ~ ') as ' ~ mean ~ '))'
    ) }}
{% endmacro %}
