{# Returns a query's rows as lists of Python values: dbt's run_query guesses types, and makes a number of a token like '007'. #}
{% macro _rows_of(sql) %}
    {% call statement('collapsing_rows', fetch_result=True, auto_begin=False) %}
        {{ sql }}
    {% endcall %}
    {{ return(load_result('collapsing_rows')['data']) }}
{% endmacro %}


{# Runs a statement whose result is not needed. #}
{% macro _execute(sql) %}
    {% call statement('collapsing', auto_begin=False) %}
        {{ sql }}
    {% endcall %}
{% endmacro %}


{# Returns {zone, ansi} of the session: its time zone, and whether its ANSI mode is on. #}
{% macro _session_settings() %}
    {#- a number and text have a common type that only ANSI mode makes a number -#}
    {% set row = collapsing._rows_of("select current_timezone(), typeof(coalesce(1, '1')) <> 'string'")[0] %}
    {{ return({'zone': row[0], 'ansi': row[1]}) }}
{% endmacro %}


{# Returns whether this command may write: compile, docs, show and test render the same models and must not. #}
{% macro _may_write() %}
    {{ return(flags.WHICH in ['run', 'build']) }}
{% endmacro %}


{# Prints one line on the console and in dbt's log, with the model it is about. #}
{% macro _say(name, message) %}
    {% do log('collapsing: ' ~ name ~ ': ' ~ message, info=true) %}
{% endmacro %}


{# Returns a number with its noun. #}
{% macro _counted(number, noun) %}
    {{ return(number ~ ' ' ~ noun ~ ('s' if number != 1)) }}
{% endmacro %}
