{# Says one line on the console and in dbt's log, with the model it is about. #}
{% macro _say(name, message) %}
    {% do log('collapsing: ' ~ name ~ ': ' ~ message, info=true) %}
{% endmacro %}


{# Says one line of the model that is being built; commands that only render it say nothing. #}
{% macro _log(message) %}
    {% do collapsing._say(model.name, message) if collapsing._may_write() %}
{% endmacro %}
