{#
    Gives the checked settings of a ledger, every one present: defaults filled in, columns as lists.
    `given` is the mapping under meta.collapsing of the model `model_name`.
#}
{% macro _ledger_settings(model_name, given) %}
    {% set known = [
        'engine', 'key', 'version', 'sign', 'is_deleted', 'input', 'deletes', 'block', 'order_by', 'combine', 'on_bad_rows'
    ] %}
    {% if given is not mapping or not given %}
        {{ collapsing._refuse(model_name, "a ledger needs settings in config(meta={'collapsing': {...}}): at least 'key'") }}
    {% endif %}
    {% do collapsing._refuse_unknown(model_name, given, known) %}

    {% set settings = {
        'engine': collapsing._one_of(model_name, given, 'engine', ['versioned_collapsing', 'deduplicating']),
        'input': collapsing._one_of(model_name, given, 'input', ['events']),
        'deletes': collapsing._one_of(model_name, given, 'deletes', ['versioned', 'unversioned']),
        'on_bad_rows': collapsing._one_of(model_name, given, 'on_bad_rows', ['fail']),
        'key': collapsing._columns_of(model_name, given, 'key'),
        'version': collapsing._columns_of(model_name, given, 'version'),
        'order_by': collapsing._columns_of(model_name, given, 'order_by'),
        'sign': collapsing._column_of(model_name, given, 'sign'),
        'is_deleted': collapsing._column_of(model_name, given, 'is_deleted'),
        'block': collapsing._column_of(model_name, given, 'block'),
        'combine': given.get('combine') or {}
    } %}

    {% for setting in (['key', 'version'] if settings.engine == 'versioned_collapsing' else ['key']) if not settings[setting] %}
        {{ collapsing._refuse_setting(
            model_name, setting, "a column or a list of columns (the engine " ~ settings.engine ~ " needs it)", 'nothing'
        ) }}
    {% endfor %}
    {% if settings.engine == 'deduplicating' %}
        {% for setting in ['version', 'sign', 'is_deleted', 'deletes', 'combine'] if setting in given %}
            {{ collapsing._refuse(
                model_name, "setting '" ~ setting ~ "' says nothing to the engine deduplicating: the first row of a key wins"
            ) }}
        {% endfor %}
    {% endif %}
    {% if settings.sign and settings.is_deleted %}
        {{ collapsing._refuse(model_name, "settings 'sign' and 'is_deleted' both say what a delete is: give one of them") }}
    {% endif %}
    {% if settings.deletes == 'unversioned' and not (settings.sign or settings.is_deleted) %}
        {{ collapsing._refuse(model_name, "setting 'deletes: unversioned' needs 'sign' or 'is_deleted' to tell a delete") }}
    {% endif %}
    {% do collapsing._check_combine(model_name, settings) %}
    {{ return(settings) }}
{% endmacro %}


{# Gives the value of a setting that is one of a few words, the first of them where nothing is given. #}
{% macro _one_of(model_name, given, setting, allowed) %}
    {% set value = given.get(setting, allowed[0]) %}
    {% if value not in allowed %}
        {{ collapsing._refuse_setting(model_name, setting, 'one of: ' ~ allowed | join(', '), value) }}
    {% endif %}
    {{ return(value) }}
{% endmacro %}


{# Gives the columns of a setting as a list, in the order given; empty where nothing is given. #}
{% macro _columns_of(model_name, given, setting) %}
    {% set value = given.get(setting, []) %}
    {% set columns = [value] if value is string else value %}
    {% if columns is mapping or columns is not iterable
        or columns | select('string') | list | length != columns | length
        or '' in columns or columns | unique | list | length != columns | length %}
        {{ collapsing._refuse_setting(model_name, setting, 'a column or a list of different columns', value) }}
    {% endif %}
    {{ return(columns | list) }}
{% endmacro %}


{# Gives the column of a setting that takes one, or none. #}
{% macro _column_of(model_name, given, setting) %}
    {% set value = given.get(setting) %}
    {% if value is not none and (value is not string or value == '') %}
        {{ collapsing._refuse_setting(model_name, setting, 'a column', value) }}
    {% endif %}
    {{ return(value) }}
{% endmacro %}


{# `combine` merges values: what orders or identifies a row cannot be merged. #}
{% macro _check_combine(model_name, settings) %}
    {% set combine = settings.combine %}
    {% if combine is not mapping or combine.values() | select('string') | list | length != combine | length %}
        {{ collapsing._refuse_setting(
            model_name, 'combine', 'a mapping of a column to SQL over old.<column> and new.<column>', combine
        ) }}
    {% endif %}
    {% for column in combine %}
        {% set fixed = settings.key + settings.version + settings.order_by %}
        {% if column in fixed + [settings.sign, settings.is_deleted, settings.block] %}
            {{ collapsing._refuse(
                model_name,
                "setting 'combine' cannot merge '" ~ column ~ "': key, version, order and delete columns come from the newest event"
            ) }}
        {% endif %}
    {% endfor %}
{% endmacro %}
