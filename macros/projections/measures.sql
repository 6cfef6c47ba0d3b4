{#
    A measure is kept as parts that add up: `ledger_count_<name>`, how many of its values are not NULL, and for sum and
    avg `ledger_sum_<name>`. Integers are summed as decimal(30, 0), which a hundred thousand million bigints cannot overflow,
    decimals as decimal(38, scale); that type is how _merged_measure knows what to give back. The sign is applied by
    negation, never by a product: decimal(38, 18) * tinyint rounds, and the least bigint has no negative.
#}


{# Gives the parts of a measure as {name, sql}, over the columns of the CTE `changes`. #}
{% macro _parts_of(measure, types) %}
    {% set value = adapter.quote('ledger_value_' ~ measure.name) %}
    {% set count = {
        'name': 'ledger_count_' ~ measure.name,
        'sql': 'coalesce(sum(if(' ~ value ~ ' is null, null, ledger_sign)), 0)'
    } %}
    {% if measure.argument == '*' %}
        {{ return([]) }}
    {% elif measure.function == 'count' %}
        {{ return([count]) }}
    {% endif %}
    {% set term = collapsing._summed(value, types[measure.name]) %}
    {{ return([count, {
        'name': 'ledger_sum_' ~ measure.name,
        'sql': 'sum(if(ledger_sign = -1, -' ~ term ~ ', ' ~ term ~ '))'
    }]) }}
{% endmacro %}


{# Gives SQL for a value in the type it is summed in. #}
{% macro _summed(value, dtype) %}
    {% if dtype in ['tinyint', 'smallint', 'int', 'bigint'] %}
        {{ return('cast(' ~ value ~ ' as decimal(20, 0))') }}
    {% elif dtype.startswith('decimal') %}
        {{ return('cast(' ~ value ~ ' as decimal(38, ' ~ dtype.split(',')[1] ~ ')') }}
    {% elif dtype.startswith('interval') %}
        {{ return(value) }}
    {% endif %}
    {{ return('cast(' ~ value ~ ' as double)') }}
{% endmacro %}


{# Gives SQL for a measure from its parts, over rows grouped as the projection is; `types` as _types_of gives them. #}
{% macro _merged_measure(projection, measure, types) %}
    {% if measure.argument == '*' %}
        {{ return('sum(ledger_sign)') }}
    {% endif %}
    {% set rows = 'sum(' ~ adapter.quote('ledger_count_' ~ measure.name) ~ ')' %}
    {% if measure.function == 'count' %}
        {{ return(rows) }}
    {% endif %}
    {% set part = adapter.quote('ledger_sum_' ~ measure.name) %}
    {% set dtype = types.get('ledger_sum_' ~ measure.name, 'unknown') %}
    {% set total = 'sum(' ~ part ~ ')' %}
    {% set value = collapsing._mean(total, rows, dtype) if measure.function == 'avg' else collapsing._total(total, dtype) %}
    {% if dtype.startswith('decimal') %}
        {% set value = 'coalesce(' ~ value ~ ', raise_error(' ~ collapsing._text_literal(
            "collapsing: projection '" ~ projection.identifier ~ "': measure '" ~ measure.name ~ "' does not fit its type"
        ) ~ '))' %}
    {% endif %}
    {{ return('if(' ~ rows ~ ' = 0, null, ' ~ value ~ ')') }}
{% endmacro %}


{# Gives SQL for a sum in the type that Spark's own sum has: bigint of integers. NULL where it does not fit. #}
{% macro _total(total, dtype) %}
    {{ return('try_cast(' ~ total ~ ' as bigint)' if dtype == 'decimal(30,0)' else total) }}
{% endmacro %}


{#
    Gives SQL for a mean as Spark's avg has it: a double of integers and floats, four digits more scale of decimals. A
    total too large for those four digits is divided at its own scale.
#}
{% macro _mean(total, rows, dtype) %}
    {% if dtype.startswith('decimal') and dtype != 'decimal(30,0)' %}
        {% set mean = 'decimal(38, ' ~ [dtype.split(',')[1].rstrip(')') | int + 4, 38] | min ~ ')' %}
        {{ return(
            'coalesce(try_cast(' ~ total ~ ' as ' ~ mean ~ ') / ' ~ rows
            ~ ', try_cast(' ~ total ~ ' / ' ~ rows ~ ' as ' ~ mean ~ '))'
        ) }}
    {% endif %}
    {{ return('cast(' ~ total ~ ' as double) / ' ~ rows) }}
{% endmacro %}


{# Gives the columns' types of a relation, {column name: type}; none while it does not exist (dbt compile on an empty schema). #}
{% macro _types_of(relation) %}
    {% set types = {} %}
    {% for column in adapter.get_columns_in_relation(collapsing._named(relation)) %}
        {% do types.update({column.name: column.dtype}) %}
    {% endfor %}
    {{ return(types) }}
{% endmacro %}


{# Gives the Spark type of each measure's argument, {measure name: type}: asked of Spark, no row is read. #}
{% macro _argument_types(ledger, settings) %}
    {% set types, asked = {}, [] %}
    {% for measure in settings.measures if measure.argument != '*' %}
        {% do asked.append(measure) %}
    {% endfor %}
    {% if asked %}
        {% set sql -%}
            select {% for measure in asked %}typeof(first({{ measure.argument }})){{ ', ' if not loop.last }}{% endfor %}
            from {{ ledger }} where false
        {%- endset %}
        {% set row = collapsing._rows_of(sql)[0] %}
        {% for measure in asked %}
            {% set dtype = row[loop.index0] %}
            {% if measure.function != 'count' and dtype in ['boolean', 'date', 'timestamp', 'timestamp_ntz', 'binary'] %}
                {{ collapsing._refuse(
                    model.name,
                    "measure '" ~ measure.name ~ "': " ~ measure.function ~ '(' ~ measure.argument ~ ') adds values of type '
                    ~ dtype ~ '; allowed: numbers'
                ) }}
            {% endif %}
            {% do types.update({measure.name: dtype}) %}
        {% endfor %}
    {% endif %}
    {{ return(types) }}
{% endmacro %}
