{#
    A measure is kept as partial sums, so that a cancel row subtracts what its state row added:

    count      `ledger_count_<name>`: how many values are not NULL
    sum, avg   the same, and `ledger_sum_<name>`. Integers are summed as decimal(30, 0), which a hundred thousand million bigints
               cannot overflow, decimals as decimal(38, scale), intervals in their own type and floats as doubles. That type tells
               _merged_measure what to return
    min, max,  rows of their own, one per group and value: `ledger_value_<name>`, and `ledger_count_<name>`, how often the
    distinct   value is there. Measures of the same argument share them, under the name of the first

    The sign is turned, never multiplied by: decimal(38, 18) * tinyint rounds, and the least bigint has no negative.
#}


{# Returns the measures that keep values: of each argument the first with such a function. #}
{% macro _value_measures(measures) %}
    {% set keeping = measures | selectattr('function', 'in', ['min', 'max', 'distinct']) %}
    {{ return(keeping | unique(case_sensitive=true, attribute='argument') | list) }}
{% endmacro %}


{#
    Returns what a row of a ledger adds to the partial sums of a measure, as a list of {name, added: SQL over the row of the CTE
    `changes`}, with `dtype` for a sum: the type that it is kept in. `type` is the Spark type of the measure's argument.
#}
{% macro _partials_of_row(measure, type) %}
    {% set value = adapter.quote('ledger_value_' ~ measure.name) %}
    {% set count = {'name': 'ledger_count_' ~ measure.name, 'added': 'if(' ~ value ~ ' is null, 0, ledger_sign)'} %}
    {% if measure.function == 'count' %}{{ return([count]) }}{% endif %}
    {% if measure.function not in ['sum', 'avg'] %}
        {{ return([{'name': 'ledger_value_' ~ measure.name, 'added': value}, count]) }}
    {% endif %}

    {% set term, dtype = collapsing._summand(value, type) %}
    {% set added = 'if(ledger_sign = -1, ' ~ collapsing._negated(term, type) ~ ', ' ~ term ~ ')' %}
    {{ return([count, {'name': 'ledger_sum_' ~ measure.name, 'dtype': dtype, 'added': added}]) }}
{% endmacro %}


{# Returns (SQL for a value as it is added up, the type of such a sum). #}
{% macro _summand(value, type) %}
    {% if collapsing._is_integer(type) %}{{ return(('cast(' ~ value ~ ' as decimal(20, 0))', 'decimal(30,0)')) }}{% endif %}
    {% if type.startswith('interval') %}{{ return((value, type)) }}{% endif %}
    {% set dtype = 'decimal(38,' ~ type.split(',')[1] if type.startswith('decimal') else 'double' %}
    {{ return(('cast(' ~ value ~ ' as ' ~ dtype ~ ')', dtype)) }}
{% endmacro %}


{#
    Returns SQL for a term with its sign turned. Spark's minus rounds a decimal to 34 digits: of longer ones the text is turned,
    for a difference or a product would need a digit more than there is.
#}
{% macro _negated(term, type) %}
    {% if not type.startswith('decimal') or type.split('(')[1].split(',')[0] | int <= 34 %}{{ return('-' ~ term) }}{% endif %}
    {% set text = 'cast(' ~ term ~ ' as string)' %}
    {{ return(
        'cast(if(' ~ term ~ ' < 0, substr(' ~ text ~ ", 2), concat('-', " ~ text ~ ')) as '
        ~ collapsing._summand(term, type)[1] ~ ')'
    ) }}
{% endmacro %}


{# Returns SQL for the sum of exact partial sums, over rows that are grouped; NULL where it does not fit, whatever ANSI says. #}
{% macro _sum_that_fits(partial, dtype) %}
    {% set total = 'try_sum(' ~ partial ~ ')' %}
    {{ return('try_cast(' ~ total ~ ' as ' ~ dtype ~ ')' if dtype.startswith('decimal') else total) }}
{% endmacro %}


{# Returns SQL for the sum of partial sums in the type in which it is kept: NULL for no values, an error if it does not fit. #}
{% macro _sum_to_keep(partial, dtype, projection, measure) %}
    {% if dtype == 'double' %}{{ return('sum(' ~ partial ~ ')') }}{% endif %}
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
    Returns the Spark types of the arguments of sum and avg over a ledger, a handle, in the order of the measures, '-' for the others; no row is read.
    Raises an error if the values of a measure cannot be added up or compared.
#}
{% macro _argument_types(ledger, settings) %}
    {% set types = [] %}
    {% for measure in settings.measures %}
        {% set setting, says = 'measures.' ~ measure.name, "measure '" ~ measure.name ~ "': " ~ measure.aggregate %}
        {% set type = '-' if measure.argument == '*' else collapsing._type_of_sql(
            model.name, setting, measure.argument, measure.aggregate, ledger.relation, ledger.columns
        ) %}
        {% set is_added = measure.function in ['sum', 'avg'] %}
        {% if is_added and not modules.re.match('(?:(?:tiny|small|big)?int$|decimal|float$|double$|interval .)', type) %}
            {% do collapsing._raise(
                model.name, says ~ ' adds values of type ' ~ type ~ '; allowed: numbers, and intervals of days or months'
            ) %}
        {% endif %}
        {% if measure.function in ['min', 'max', 'distinct'] and not collapsing._is_comparable(type) %}
            {% do collapsing._raise(
                model.name, says ~ ' compares values of type ' ~ type ~ '; allowed: types that compare and order (no map,'
                ~ ' variant, interval without a unit, or NULL without a type, in them either)'
            ) %}
        {% endif %}
        {% do types.append(type if is_added else '-') %}
    {% endfor %}
    {{ return(types) }}
{% endmacro %}


{# Raises an error where rows cannot be grouped by SQL of the setting `group_by`. #}
{% macro _check_groups(ledger, settings) %}
    {% for name, sql in settings.group_by.items() %}
        {% set type = collapsing._type_of_sql(model.name, 'group_by.' ~ name, sql, sql, ledger.relation, ledger.columns) %}
        {% if not collapsing._is_comparable(type) or ' collate ' in type | lower %}
            {% do collapsing._raise_setting(
                model.name, 'group_by.' ~ name, 'SQL of a type that compares and orders (no map or variant, and no text with a'
                ~ ' collation)', sql ~ ', which is ' ~ type
            ) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{# Raises an error where SQL names the sign of rows that carry their own: it differs between a cancel row and its state row. #}
{% macro _check_reads_no_sign(settings, sign) %}
    {% set expressions = [] %}
    {% for name, sql in settings.group_by.items() %}
        {% do expressions.append(['group_by.' ~ name, sql]) %}
    {% endfor %}
    {#- count(column) counts a row and its cancel row alike -#}
    {% for measure in settings.measures if measure.function != 'count' or measure.argument.strip('`') | lower != sign | lower %}
        {% do expressions.append(['measures.' ~ measure.name, measure.aggregate]) %}
    {% endfor %}
    {% for setting, sql in expressions %}
        {% set code = modules.re.sub("'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"", "''", sql) %}
        {% if modules.re.search('(?i)(?<![\\w.])' ~ modules.re.escape(sign) ~ '(?!\\w|\\s*\\()', code) %}
            {% do collapsing._raise(
                model.name, "setting '" ~ setting ~ "' reads the column '" ~ sign ~ "' of rows that carry their sign: a cancel"
                ~ ' row has another sign than the state row that it cancels; given: ' ~ sql
            ) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{# Returns whether SQL of a projection is more than plain columns, so that what it gives may depend on the session. #}
{% macro _computes(settings) %}
    {% for sql in settings.group_by.values() | list + settings.measures | map(attribute='argument') | list %}
        {% if not modules.re.match('^(?:\\*|\\w+|`[^`]+`)$', sql.strip()) %}{{ return(true) }}{% endif %}
    {% endfor %}
    {{ return(false) }}
{% endmacro %}
