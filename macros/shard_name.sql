{% macro shard_name(name) %}
    {% set shard = collapsing._shard_of_run() %}
    {{ return(name ~ ('__shard_' ~ shard if shard is not none else '')) }}
{% endmacro %}
