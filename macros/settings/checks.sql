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
    {% if given is undefined %}{{ return('nothing') }}{% endif %}
    {#- a relation is a mapping that cannot be asked for its items -#}
    {% if given.isoformat or given.identifier %}{{ return(given | string) }}{% endif %}
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


{# Raises an error for the first unknown setting: a misspelt one must not leave the default unnoticed. #}
{% macro _check_known(model_name, settings, known) %}
    {% for setting in settings if setting not in known %}
        {{ collapsing._raise(model_name, "unknown setting '" ~ setting ~ "'; allowed: " ~ known | join(', ')) }}
    {% endfor %}
{% endmacro %}


{# Returns the value of a setting that is one of a few words, by default the first of them. #}
{% macro _one_of(model_name, given, setting, allowed) %}
    {% set value = allowed[0] if given.get(setting) is none else given[setting] %}
    {% if value not in allowed %}
        {% do collapsing._raise_setting(model_name, setting, 'one of: ' ~ allowed | join(', '), value) %}
    {% endif %}
    {{ return(value) }}
{% endmacro %}


{# Returns the columns of a setting as a list, in the order given; empty where nothing is given. #}
{% macro _columns_setting(model_name, given, setting) %}
    {% set value = given.get(setting) %}
    {% set columns = [] if value is none else [value] if value is string else value %}
    {{ collapsing._raise_setting(model_name, setting, 'a column or a list of different columns', value)
        if columns is mapping or columns is not iterable
        or columns | select('string') | list | length != columns | length
        or '' in columns or columns | unique | list | length != columns | length }}
    {{ return(columns | list) }}
{% endmacro %}


{# Returns the column of a setting that takes one, or none. #}
{% macro _column_setting(model_name, given, setting) %}
    {% set value = given.get(setting) %}
    {{ collapsing._raise_setting(model_name, setting, 'a column', value)
        if value is not none and (value is not string or value == '') }}
    {{ return(value) }}
{% endmacro %}


{# Raises an error if a setting that the engine needs is missing, or one that it ignores is given. #}
{% macro _check_engine(settings, given) %}
    {% set engine, name = collapsing._engine(settings), settings.engine ~ (' with input: signed' if settings.is_signed else '') %}
    {% if settings.is_signed and 'sign' not in engine.needs %}
        {% do collapsing._raise(
            settings.model, "setting 'input: signed' is for the engines collapsing and versioned_collapsing; " ~ settings.engine ~ ' has no cancel rows'
        ) %}
    {% endif %}
    {% for setting in ['key'] + engine.needs if not settings[setting] %}
        {% do collapsing._raise_setting(
            settings.model, setting,
            ('a column' if setting in ['sign', 'block'] else 'a column or a list of columns') ~ ' (the engine ' ~ name ~ ' needs it'
            ~ (': ' ~ engine.because if setting != 'key' else '') ~ ')', 'nothing'
        ) %}
    {% endfor %}
    {% for setting in engine.ignores if setting in given %}
        {% do collapsing._raise(
            settings.model, "setting '" ~ setting ~ "' has no effect with engine '" ~ name ~ "': remove it (" ~ engine.because ~ ')'
        ) %}
    {% endfor %}
{% endmacro %}


{# Raises an error where a model's table is to have a format that the package does not write; warns of configs without effect. #}
{% macro _check_model(kind) %}
    {% do collapsing._check_format() %}
    {% set decided_by = {
        'unique_key': {'ledger': "the setting 'key'", 'projection': "the setting 'group_by'"}[kind],
        'incremental_strategy': 'the package, which only appends',
        'partition_by': 'the package: tables are partitioned by ledger_batch',
        'clustered_by': 'the package', 'buckets': 'the package'
    } %}
    {% set without_effect = [] %}
    {% for name, by in decided_by.items() if config.get(name) %}
        {% do without_effect.append(name ~ ' (decided by ' ~ by ~ ')') %}
    {% endfor %}
    {% if without_effect %}
        {% do collapsing._warn(model.name, 'these configs have no effect: ' ~ without_effect | join(', ')) %}
    {% endif %}
{% endmacro %}
