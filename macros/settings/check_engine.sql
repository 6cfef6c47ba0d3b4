{# Raises an error when an engine lacks a setting, or is given one that has no effect with it: that would mislead. #}
{% macro _check_engine(model_name, settings, given) %}
    {% set engine = collapsing._engine(settings) %}
    {% set name = settings.engine ~ (' with input: signed' if settings.input == 'signed' else '') %}
    {% if settings.input == 'signed' and not engine.variant.endswith('__signed') %}
        {% set signed = [] %}
        {% for other in collapsing._engine_names() if '_engine_' ~ other ~ '__signed' in collapsing %}
            {% do signed.append(other) %}
        {% endfor %}
        {{ collapsing._raise(
            model_name, "setting 'input: signed' is for the engines " ~ signed | join(' and ') ~ '; ' ~ settings.engine ~ ' has no cancel rows'
        ) }}
    {% endif %}
    {% for setting in ['key'] + engine.needs if not settings[setting] %}
        {{ collapsing._raise_setting(
            model_name, setting,
            ('a column' if setting == 'sign' else 'a column or a list of columns') ~ ' (the engine ' ~ name ~ ' needs it'
            ~ (': ' ~ engine.because if setting != 'key') ~ ')', 'nothing'
        ) }}
    {% endfor %}
    {% for setting in engine.ignores if setting in given %}
        {{ collapsing._raise(
            model_name, "setting '" ~ setting ~ "' has no effect with engine '" ~ name ~ "': remove it (" ~ engine.because ~ ')'
        ) }}
    {% endfor %}
{% endmacro %}
