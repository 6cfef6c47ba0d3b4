{# Returns the columns' types of a relation, {column name: type}; none while it does not exist (dbt compile on an empty schema). #}
{% macro _types_of(relation) %}
    {% set types = {} %}
    {% for column in (collapsing._describe(collapsing._named(relation)).columns if load_relation(relation) is not none else []) %}
        {% do types.update({column.name: column.dtype}) %}
    {% endfor %}
    {{ return(types) }}
{% endmacro %}


{# Returns the Spark type of each measure's argument, {measure name: type}: asked of Spark, no row is read. #}
{% macro _argument_types(ledger, settings) %}
    {% set types = {} %}
    {% set asked = settings.measures | rejectattr('argument', 'equalto', '*') | list %}
    {% if asked %}
        {% set sql -%}
            select {% for measure in asked %}typeof(first({{ measure.argument }})){{ ', ' if not loop.last }}{% endfor %}
            from {{ ledger }} where false
        {%- endset %}
        {% set row = collapsing._rows_of(sql)[0] %}
        {% for measure in asked %}
            {% do collapsing._check_type(measure, row[loop.index0]) %}
            {% do types.update({measure.name: row[loop.index0]}) %}
        {% endfor %}
    {% endif %}
    {{ return(types) }}
{% endmacro %}


{# Stops when a measure is asked of values that do not add up or do not compare. #}
{% macro _check_type(measure, type) %}
    {% set says = "measure '" ~ measure.name ~ "': " ~ measure.aggregate %}
    {% if measure.function in ['sum', 'avg']
        and not modules.re.match('(tiny|small|big)?int$|decimal|float$|double$|interval .', type) %}
        {{ collapsing._raise(model.name, says ~ ' adds values of type ' ~ type ~ '; allowed: numbers') }}
    {% elif measure.function in ['min', 'max', 'distinct']
        and modules.re.search('(^|[<:,])(map<|(variant|interval|void)($|[,>]))', type) %}
        {{ collapsing._raise(
            model.name, says ~ ' compares values of type ' ~ type ~ '; allowed: types that compare and order (no map, variant,'
            ~ ' interval without a unit, or NULL without a type, in them either)'
        ) }}
    {% endif %}
{% endmacro %}
