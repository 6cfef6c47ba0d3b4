{# Stops with an error that begins with the model it is about. #}
{% macro _raise(model_name, message) %}
    {{ exceptions.raise_compiler_error("collapsing: model '" ~ model_name ~ "': " ~ message) }}
{% endmacro %}


{# Stops because of one setting: says what is allowed and what was given. #}
{% macro _raise_setting(model_name, setting, allowed, given) %}
    {{ collapsing._raise(
        model_name, "setting '" ~ setting ~ "' must be " ~ allowed ~ "; given: " ~ (given if given is string else tojson(given, given | string))
    ) }}
{% endmacro %}


{# Stops at the first setting that nobody knows: a misspelt one must not pass for a default. #}
{% macro _check_known(model_name, settings, known) %}
    {% for setting in settings if setting not in known %}
        {{ collapsing._raise(
            model_name, "unknown setting '" ~ setting ~ "'; allowed: " ~ known | join(', ')
        ) }}
    {% endfor %}
{% endmacro %}
