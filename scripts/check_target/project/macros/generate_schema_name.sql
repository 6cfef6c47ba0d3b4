{# Returns the schema that this check has for itself. #}
{% macro generate_schema_name(custom_schema_name, node) %}
    {{ return(env_var('COLLAPSING_CHECK_SCHEMA')) }}
{% endmacro %}
