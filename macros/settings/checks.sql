{# Raises an error that begins with the name of the model. #}
{% macro _raise(model_name, message) %}
    {{ exceptions.raise_compiler_error("collapsing: model '" ~ model_name ~ "': " ~ message) }}
{% endmacro %}


{# Warns, beginning with the name of the model. #}
{% macro _warn(model_name, message) %}
    {% do exceptions.warn("collapsing: model '" ~ model_name ~ "': " ~ message) %}
{% endmacro %}


{# Raises an error about one setting: says what is allowed and what was given. #}
{% macro _raise_setting(model_name, setting, allowed, given) %}
    {{ collapsing._raise(
        model_name, "setting '" ~ setting ~ "' must be " ~ allowed ~ "; given: " ~ (given if given is string else collapsing._shown(given))
    ) }}
{% endmacro %}


{# Returns a value as an error shows what was given: JSON, but for what has no JSON, such as the dates that YAML makes of text. #}
{% macro _shown(given) %}
    {% do return('nothing') if given is undefined %}
    {#- a relation is a mapping that cannot be asked for its items -#}
    {% do return(given | string) if given.isoformat or given.identifier %}
    {% set parts = [] %}
    {% if given is mapping %}
        {% for name, value in given.items() %}
            {% do parts.append(collapsing._shown(name) ~ ': ' ~ collapsing._shown(value)) %}
        {% endfor %}
        {{ return('{' ~ parts | join(', ') ~ '}') }}
    {% elif given is sequence and given is not string %}
        {% for value in given %}
            {% do parts.append(collapsing._shown(value)) %}
        {% endfor %}
        {{ return('[' ~ parts | join(', ') ~ ']') }}
    {% endif %}
    {{ return(tojson(given, given | string)) }}
{% endmacro %}


{# Raises an error for the first unknown setting, of those `within` one: a misspelt one must not leave the default unnoticed. #}
{% macro _check_known(model_name, settings, known, within='') %}
    {% for setting in settings if setting not in known %}
        {{ collapsing._raise(model_name, "unknown setting '" ~ within ~ setting ~ "'; allowed: " ~ known | join(', ')) }}
    {% endfor %}
{% endmacro %}


{# Returns the value of a setting that is one of a few words, by default the first of them. #}
{% macro _one_of(model_name, given, setting, allowed, within='') %}
    {% set value = given.get(setting, allowed[0]) %}
    {% if value not in allowed %}
        {{ collapsing._raise_setting(model_name, within ~ setting, 'one of: ' ~ allowed | join(', '), value) }}
    {% endif %}
    {{ return(value) }}
{% endmacro %}


{# Returns the columns of a setting as a list, in the order given; empty where nothing is given. #}
{% macro _columns_setting(model_name, given, setting) %}
    {% set value = given.get(setting, []) %}
    {% set columns = [value] if value is string else value %}
    {% if columns is mapping or columns is not iterable
        or columns | select('string') | list | length != columns | length
        or '' in columns or columns | unique | list | length != columns | length %}
        {{ collapsing._raise_setting(model_name, setting, 'a column or a list of different columns', value) }}
    {% endif %}
    {{ return(columns | list) }}
{% endmacro %}


{# Returns the column of a setting that takes one, or none. #}
{% macro _column_setting(model_name, given, setting) %}
    {% set value = given.get(setting) %}
    {% if value is not none and (value is not string or value == '') %}
        {{ collapsing._raise_setting(model_name, setting, 'a column', value) }}
    {% endif %}
    {{ return(value) }}
{% endmacro %}


{# Raises an error if a setting that the engine needs is missing, or one that it ignores is given. #}
{% macro _check_engine(settings, given) %}
    {% set engine = collapsing._engine(settings) %}
    {% set name = settings.engine ~ (' with input: signed' if settings.input == 'signed' else '') %}
    {% if settings.input == 'signed' and not engine.is_signed %}
        {% set signed = [] %}
        {% for other in collapsing._engine_names() if '_engine_' ~ other ~ '__signed' in collapsing %}
            {% do signed.append(other) %}
        {% endfor %}
        {{ collapsing._raise(
            settings.model, "setting 'input: signed' is for the engines " ~ signed | join(' and ') ~ '; ' ~ settings.engine ~ ' has no cancel rows'
        ) }}
    {% endif %}
    {% for setting in ['key'] + engine.needs if not settings[setting] %}
        {{ collapsing._raise_setting(
            settings.model, setting,
            ('a column' if setting == 'sign' else 'a column or a list of columns') ~ ' (the engine ' ~ name ~ ' needs it'
            ~ (': ' ~ engine.because if setting != 'key') ~ ')', 'nothing'
        ) }}
    {% endfor %}
    {% for setting in engine.ignores if setting in given %}
        {{ collapsing._raise(
            settings.model, "setting '" ~ setting ~ "' has no effect with engine '" ~ name ~ "': remove it (" ~ engine.because ~ ')'
        ) }}
    {% endfor %}
{% endmacro %}
