{# Says one line on the console and in dbt's log, with the model it is about. #}
{% macro _log(message) %}
    {% do log('collapsing: ' ~ model.name ~ ': ' ~ message, info=collapsing._may_write()) %}
{% endmacro %}
