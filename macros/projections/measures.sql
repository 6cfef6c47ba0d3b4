{#
    A measure is kept as partials that add up, so that a cancel row takes back what its state row brought:

    count      `ledger_count_<name>`: how many values are not NULL
    sum, avg   the same, and `ledger_sum_<name>`. Integers are summed as decimal(30, 0), which a hundred thousand million bigints
               cannot overflow, decimals as decimal(38, scale); that type is how _merged_measure knows what to give back.
               Of floats only finite ones are summed. `ledger_nan_<name>`, `ledger_plus_infinity_<name>` and
               `ledger_minus_infinity_<name>` count the others: taken out of a sum they would leave NaN behind for ever
    min, max,  rows of their own, one for each group and value: `ledger_value_<name>`, and `ledger_count_<name>`, how often the
    distinct   value is there. Measures of the same argument share them, under the name of the first
    max_by,    the same; a value is a struct of y and x, so that the greatest has the greatest y, and of several of that y the
    min_by     greatest x
    ratio      nothing: it is divided when the projection is read

    The sign is turned, never multiplied by: decimal(38, 18) * tinyint rounds, and the least bigint has no negative.
#}


{# Returns the functions whose measures keep values. #}
{% macro _value_functions() %}
    {{ return(['min', 'max', 'distinct', 'min_by', 'max_by']) }}
{% endmacro %}


{# Returns the measures that keep values: of each argument the first with such a function. #}
{% macro _value_measures(measures) %}
    {{ return(
        measures | selectattr('function', 'in', collapsing._value_functions()) | unique(case_sensitive=true, attribute='argument') | list
    ) }}
{% endmacro %}


{# Returns the measures with partials of their own: not quotients, count(*), which is the sign, and those that share values. #}
{% macro _measures_with_partials(measures) %}
    {% set sharing = measures | selectattr('function', 'in', collapsing._value_functions())
        | reject('in', collapsing._value_measures(measures)) | list %}
    {{ return(collapsing._aggregates(measures) | rejectattr('argument', 'equalto', '*') | reject('in', sharing) | list) }}
{% endmacro %}


{#
    Returns what a row of a ledger adds to the partials of a measure, as a list of {name, added: SQL over the row of the CTE
    `changes`}, with `dtype` for a sum: the type that it is kept in. `type` is the Spark type of the measure's argument.
#}
{% macro _partials_of_row(measure, type) %}
    {% set value = adapter.quote('ledger_value_' ~ measure.name) %}
    {% set count = {'name': 'ledger_count_' ~ measure.name, 'added': 'if(' ~ value ~ ' is null, 0, ledger_sign)'} %}
    {% do return([count]) if measure.function == 'count' %}
    {% do return([{'name': 'ledger_value_' ~ measure.name, 'added': value}, count]) if measure.function not in ['sum', 'avg'] %}

    {% set term, dtype = collapsing._summand(value, type) %}
    {% set sum = {
        'name': 'ledger_sum_' ~ measure.name, 'dtype': dtype,
        'added': 'if(ledger_sign = -1, ' ~ collapsing._negated(term, type) ~ ', ' ~ term ~ ')'
    } %}
    {% do return([count, sum]) if dtype != 'double' %}
    {% do sum.update({'added': collapsing._if_finite(value, sum.added)}) %}
    {% set partials = [count, sum] %}
    {% for name, sql in collapsing._not_finite().items() %}
        {% do partials.append({'name': name ~ measure.name, 'added': 'if(' ~ value ~ ' = ' ~ sql ~ ', ledger_sign, 0)'}) %}
    {% endfor %}
    {{ return(partials) }}
{% endmacro %}


{# Returns the floats that are not finite, {what the name of their partial begins with: SQL}. In Spark NaN = NaN. #}
{% macro _not_finite() %}
    {{ return({
        'ledger_nan_': "double('nan')", 'ledger_plus_infinity_': "double('infinity')",
        'ledger_minus_infinity_': "double('-infinity')"
    }) }}
{% endmacro %}


{# Returns (SQL for a value as it is added up, the type of such a sum). #}
{% macro _summand(value, type) %}
    {% do return(('cast(' ~ value ~ ' as decimal(20, 0))', 'decimal(30,0)')) if collapsing._is_integer(type) %}
    {% do return((value, type)) if type.startswith('interval') %}
    {% set dtype = 'decimal(38,' ~ type.split(',')[1] if type.startswith('decimal') else 'double' %}
    {{ return(('cast(' ~ value ~ ' as ' ~ dtype ~ ')', dtype)) }}
{% endmacro %}


{#
    Returns SQL for a term with its sign turned. Spark's minus rounds a decimal to 34 digits: of longer ones the text is turned,
    for a difference or a product would need a digit more than there is.
#}
{% macro _negated(term, type) %}
    {% do return('-' ~ term) if not type.startswith('decimal') or type.split('(')[1].split(',')[0] | int <= 34 %}
    {% set text = 'cast(' ~ term ~ ' as string)' %}
    {{ return(
        'cast(if(' ~ term ~ ' < 0, substr(' ~ text ~ ", 2), concat('-', " ~ text ~ ')) as ' ~ collapsing._summand(term, type)[1] ~ ')'
    ) }}
{% endmacro %}


{# Returns SQL for the sum of a partial, over rows that are grouped. NULL where it does not fit its type, whatever ANSI says. #}
{% macro _sum_that_fits(partial, dtype) %}
    {% set total = 'try_sum(' ~ partial ~ ')' %}
    {% if dtype == 'double' %}
        {#- an intermediate sum of floats may exceed the range although the total fits: multiples of 2 to the 64 do not -#}
        {% set small = '5.421010862427522E-20D' %}
        {% set multiple = 'try_sum(' ~ partial ~ ' * ' ~ small ~ ') / ' ~ small %}
        {{ return('coalesce(' ~ collapsing._if_finite(total, total) ~ ', ' ~ collapsing._if_finite(multiple, multiple) ~ ')') }}
    {% endif %}
    {{ return('try_cast(' ~ total ~ ' as ' ~ dtype ~ ')' if dtype.startswith('decimal') else total) }}
{% endmacro %}


{# Returns SQL for something if a double is neither infinite nor NaN, which Spark orders above infinity; otherwise NULL. #}
{% macro _if_finite(double, something) %}
    {{ return('if(abs(' ~ double ~ ") < double('infinity'), " ~ something ~ ', null)') }}
{% endmacro %}


{# Returns SQL for the sum of a partial in the type in which it is kept: NULL for no values, an error if it does not fit. #}
{% macro _sum_to_keep(partial, dtype, projection, measure) %}
    {{ return(
        'if(count(' ~ partial ~ ') = 0, null, '
        ~ collapsing._or_error(collapsing._sum_that_fits(partial, dtype), projection, measure) ~ ')'
    ) }}
{% endmacro %}


{# Returns SQL for a value that is NULL only if it does not fit: the query then names projection and measure in an error. #}
{% macro _or_error(value, projection, measure) %}
    {{ return('coalesce(' ~ value ~ ', ' ~ collapsing._raise_in_sql(
        "projection '" ~ projection.identifier ~ "': measure '" ~ measure ~ "' does not fit its type"
    ) ~ ')') }}
{% endmacro %}


{#
    Returns the Spark type of each measure's argument, {measure name: type}: asked of Spark, no row is read. Raises an error if the values
    of a measure cannot be added up or compared.
#}
{% macro _argument_types(ledger, settings) %}
    {% set asked = collapsing._aggregates(settings.measures) | rejectattr('argument', 'equalto', '*') | list %}
    {% do return({}) if not asked %}
    {% set types = {} %}
    {% for measure, type in zip(asked, collapsing._types_of_sql(asked | map(attribute='argument'), ledger)) %}
        {% set says = "measure '" ~ measure.name ~ "': " ~ measure.aggregate %}
        {{ collapsing._raise(
            model.name, says ~ ' adds values of type ' ~ type ~ '; allowed: numbers, and intervals of days or months'
        ) if measure.function in ['sum', 'avg']
            and not modules.re.match('(tiny|small|big)?int$|decimal|float$|double$|interval .', type) }}
        {{ collapsing._raise(
            model.name, says ~ ' compares values of type ' ~ type ~ '; allowed: types that compare and order (no map, variant,'
            ~ ' interval without a unit, or NULL without a type, in them either)'
        ) if measure.function in collapsing._value_functions() and not collapsing._is_comparable(type) }}
        {% do types.update({measure.name: type}) %}
    {% endfor %}
    {{ return(types) }}
{% endmacro %}


{# Raises an error about a quotient of measures that are no numbers; `columns` are those of the projection's table. #}
{% macro _check_quotients(settings, columns) %}
    {% set types = collapsing._types_among(columns) %}
    {% set values = collapsing._value_measures(settings.measures) %}
    {% for ratio in settings.measures | selectattr('function', 'equalto', 'ratio') %}
        {% for measure in settings.measures if measure.name in ratio.of and measure.function not in ['count', 'distinct'] %}
            {% set kept = values | selectattr('argument', 'equalto', measure.argument) | list %}
            {% set type = types['ledger_value_' ~ kept[0].name if kept else 'ledger_sum_' ~ measure.name] %}
            {#- of max_by the last field of the struct -#}
            {% set type = type.split('value_2:')[-1][:-1] if measure.function in ['max_by', 'min_by'] else type %}
            {{ collapsing._raise(
                model.name, "measure '" ~ ratio.name ~ "': " ~ ratio.aggregate ~ " divides values of type " ~ type ~ '; allowed: numbers'
            ) if not modules.re.match('((tiny|small|big)?int|decimal.*|float|double)$', type) }}
        {% endfor %}
    {% endfor %}
{% endmacro %}
