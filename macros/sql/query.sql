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


{# Returns whether there are so few rows that they are sent to every task, and the other side is not shuffled. #}
{% macro _is_broadcast(rows) %}
    {{ return(rows <= 1000000) }}
{% endmacro %}


{# Returns whether this command may write: compile, docs, show and test render the same models and must not. #}
{% macro _may_write() %}
    {{ return(flags.WHICH in ['run', 'build']) }}
{% endmacro %}


{# Returns whether a model is only shown: as the query of the rows that its next run would append. #}
{% macro _is_preview() %}
    {{ return(collapsing._knows_models() and not collapsing._may_write() and model.resource_type == 'model') }}
{% endmacro %}


{#
    Returns what commands that only show a test show while a relation that it reads is not there, or none where all are. An ephemeral model
    is always there.
#}
{% macro _instead_of_test(relations) %}
    {% for relation in relations if flags.WHICH in ['compile', 'generate', 'show'] and relation and relation is not string
        and not relation.is_cte %}
        {% if load_relation(collapsing._plain(relation)) is none %}
            {{ return('-- what it reads is not there yet: the test is shown once it is\nselect 1 where false') }}
        {% endif %}
    {% endfor %}
    {{ return(none) }}
{% endmacro %}


{# Prints one line on the console and in dbt's log, with the model it is about. #}
{% macro _say(name, message) %}
    {% do log('collapsing: ' ~ name ~ ': ' ~ message, info=true) %}
{% endmacro %}


{# Returns a number with its noun. #}
{% macro _with_noun(number, noun) %}
    {{ return(number ~ ' ' ~ noun ~ ('s' if number != 1)) }}
{% endmacro %}
