{#
    Returns a subquery of the merged groups: those that still have a live row. `types` are {name: type} of the table's columns,
    `rows` as _visible_rows gives them.

    Where measures keep values, the partial sums are added up by group and value first: what is left of a value tells whether it
    is there.
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
    from {{ collapsing._added_partials(projection, rows, settings, types) | indent(4) if values else rows }}
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
    Returns the condition that a group has live rows. Rows that bring their own sign may have more cancel rows than state rows; of
    events that stops the query, because SQL of the settings has put a row and its cancel row into different groups.
#}
{% macro _sql_has_rows(projection) %}
    {% if collapsing._sums_signed_rows(projection) %}{{ return('sum(ledger_sign) <> 0') }}{% endif %}
    {% set stop = collapsing._raise_in_sql(
        "projection '" ~ projection.identifier ~ "': a group has more cancel rows than state rows. Its SQL, or a function in"
        ~ ' it, has given two copies of a row different values: rebuild it with --full-refresh, from SQL that does not change'
    ) %}
    {{ return('if(sum(ledger_sign) < 0, ' ~ stop ~ ', sum(ledger_sign) <> 0)') }}
{% endmacro %}


{# Returns whether a projection follows a ledger whose rows bring their own sign. #}
{% macro _sums_signed_rows(projection) %}
    {% set node = collapsing._model_of(projection) if collapsing._knows_models() else none %}
    {% set ledgers = collapsing._sources_of(node) if node is not none else [] %}
    {{ return(ledgers | length > 0 and collapsing._ledger_settings(ledgers[0]).is_signed) }}
{% endmacro %}


{# Returns a subquery of one row per group, and one per group and value, with what rows of a projection add up to. #}
{% macro _added_partials(projection, rows, settings, types) %}
{%- set values = [] -%}
{%- for measure in collapsing._value_measures(settings.measures) -%}
    {%- do values.append('ledger_value_' ~ measure.name) -%}
{%- endfor -%}
{%- set kept = settings.group_by | list + values + (['ledger_part'] if values else []) -%}
(
    select
        {%- for name in kept %}
        {{ adapter.quote(name) }},
        {%- endfor %}
        {%- for name in types if name.startswith('ledger_count_') %}
        sum({{ adapter.quote(name) }}) as {{ adapter.quote(name) }},
        {%- endfor %}
        {%- for name in types if name.startswith('ledger_sum_') %}
        {%- set measure = name.removeprefix('ledger_sum_') %}
        {{ collapsing._sum_to_keep(adapter.quote(name), types[name], projection, measure) }} as {{ adapter.quote(name) }},
        {%- endfor %}
        sum(ledger_sign) as ledger_sign
    from {{ rows }}
    {%- if kept %}
    group by {{ collapsing._column_list(kept) }}
    {%- endif %}
)
{%- endmacro %}


{# Returns SQL for a measure from its partial sums, over rows grouped as the projection is; `measures` are all of it. #}
{% macro _merged_measure(projection, measure, types, measures) %}
    {% if measure.argument == '*' %}{{ return('sum(ledger_sign)') }}{% endif %}
    {% if measure.function in ['min', 'max', 'distinct'] %}
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
    {% set scale = [dtype.split(',')[1].strip(' )') | int + 4, 38] | min %}
    {% set mean = 'decimal(38, ' ~ scale ~ ')' %}
    {% set steps = 10 ** ([6 - scale, 0] | max) %}
    {% set quotient = 'try_divide(try_cast(' ~ total ~ ' as ' ~ mean ~ '), ' ~ rows ~ (' * ' ~ steps if steps > 1) ~ ')' %}
    {% set scaled = 'try_multiply(' ~ quotient ~ ', ' ~ steps ~ ')' if steps > 1 else quotient %}
    {{ return(
        'coalesce(try_cast(' ~ scaled ~ ' as ' ~ mean ~ '), try_cast(try_divide(' ~ total ~ ', ' ~ rows ~ ') as ' ~ mean ~ '))'
    ) }}
{% endmacro %}
