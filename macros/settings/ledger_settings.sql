{# Returns the checked settings of a ledger, in the graph or being built: every one is there, and columns are lists. #}
{% macro _ledger_settings(node) %}
    {% set model_name, given = node.name, node.config.meta.get('collapsing') %}
    {% if given is not mapping or not given %}
        {% do collapsing._raise(model_name, "a ledger needs settings in config(meta={'collapsing': {...}}): at least 'key'") %}
    {% endif %}
    {% do collapsing._check_known(model_name, given, [
        'engine', 'key', 'version', 'sign', 'is_deleted', 'input', 'deletes', 'block', 'order_by', 'partition_by', 'combine', 'on_bad_rows',
        'tombstone_retention', 'optimize_after'
    ]) %}

    {% set settings = {
        'model': model_name,
        'engine': collapsing._one_of(model_name, given, 'engine', collapsing._engine_names()),
        'input': collapsing._one_of(model_name, given, 'input', ['events', 'signed']),
        'deletes': collapsing._one_of(model_name, given, 'deletes', ['versioned', 'unversioned']),
        'on_bad_rows': collapsing._one_of(model_name, given, 'on_bad_rows', ['fail', 'reject']),
        'key': collapsing._columns_setting(model_name, given, 'key'),
        'version': collapsing._columns_setting(model_name, given, 'version'),
        'order_by': collapsing._columns_setting(model_name, given, 'order_by'),
        'partition_by': collapsing._columns_setting(model_name, given, 'partition_by'),
        'sign': collapsing._column_setting(model_name, given, 'sign'),
        'is_deleted': collapsing._column_setting(model_name, given, 'is_deleted'),
        'block': collapsing._column_setting(model_name, given, 'block'),
        'combine': {} if given.get('combine') is none else given.combine,
        'tombstone_retention': given.get('tombstone_retention'),
        'optimize_after': given.get('optimize_after')
    } %}
    {% set is_signed = settings.input == 'signed' %}
    {% set settings = dict(
        settings, is_signed=is_signed, has_deletes=not is_signed and (settings.sign or settings.is_deleted) is not none
    ) %}
    {% do collapsing._check_engine(settings, given) %}
    {% do collapsing._check_combine(settings) %}
    {% do collapsing._check_spelling(settings) %}
    {% do collapsing._check_together(settings) %}
    {% do collapsing._check_retention(settings) %}
    {% set after = settings.optimize_after %}
    {% if after is not none and (after is not integer or after < 1) %}
        {% do collapsing._raise_setting(model_name, 'optimize_after', 'a whole number of batches, 1 or more', after) %}
    {% endif %}
    {{ return(settings) }}
{% endmacro %}


{# Raises an error if `combine` is no mapping of columns to SQL, or cannot be applied to the rows of the engine. #}
{% macro _check_combine(settings) %}
    {% set combine = settings.combine %}
    {% if combine is not mapping or combine.values() | select('string') | list | length != combine | length %}
        {% do collapsing._raise_setting(
            settings.model, 'combine', 'a mapping of a column to SQL over old.<column> and new.<column>', combine
        ) %}
    {% endif %}
    {% if combine and settings.partition_by %}
        {% do collapsing._raise(
            settings.model, "settings 'combine' and 'partition_by' exclude each other: the events of a key are combined across partitions,"
            ~ ' which leaves no winner of each'
        ) %}
    {% endif %}
    {% set fixed = settings.key + settings.version + settings.order_by + [settings.sign, settings.is_deleted, settings.block] %}
    {% for column in combine if column in fixed %}
        {% do collapsing._raise(
            settings.model, "setting 'combine' cannot combine '" ~ column ~ "': key, version, order and delete columns come from the newest event"
        ) %}
    {% endfor %}
{% endmacro %}


{# Raises an error if settings spell one column in two ways: Spark does not distinguish upper and lower case, the package does. #}
{% macro _check_spelling(settings) %}
    {% set named = settings.key + settings.version + settings.order_by + settings.partition_by
        + [settings.sign, settings.is_deleted, settings.block] + settings.combine | list %}
    {% set spelled = {} %}
    {% for name in named if name is not none %}
        {% set other = spelled.get(name | lower) or name %}
        {% if other != name %}
            {% do collapsing._raise(
                settings.model, "settings spell the column '" ~ name ~ "' in two ways: " ~ other ~ ', ' ~ name
            ) %}
        {% endif %}
        {% do spelled.update({name | lower: name}) %}
    {% endfor %}
{% endmacro %}


{# Raises an error if one setting needs another, or two mean the same. #}
{% macro _check_together(settings) %}
    {% if settings.sign and settings.is_deleted %}
        {% do collapsing._raise(settings.model, "settings 'sign' and 'is_deleted' both mark deletes: give one of them") %}
    {% endif %}
    {% if settings.deletes == 'unversioned' and not settings.has_deletes %}
        {% do collapsing._raise(
            settings.model, "setting 'deletes: unversioned' needs 'sign' or 'is_deleted', which mark deletes"
        ) %}
    {% endif %}
    {% if settings.block and settings.block in settings.order_by %}
        {% do collapsing._raise(
            settings.model, "setting 'order_by' orders the rows of a block: it must not name the column of the setting 'block', " ~ settings.block
        ) %}
    {% endif %}
    {% set needing = {
        'combine': settings.combine, 'on_bad_rows: reject': settings.on_bad_rows == 'reject', 'deletes: unversioned': settings.deletes == 'unversioned'
    } %}
    {% for setting, is_given in needing.items() if is_given and not settings.block %}
        {% do collapsing._raise(
            settings.model, "setting '" ~ setting ~ "' needs 'block', the column with the block token: without it each run would take the whole stage"
            ~ ' for one new block'
        ) %}
    {% endfor %}
{% endmacro %}


{# Raises an error if a retention cannot be subtracted from the greatest version, which must be a single number or time. #}
{% macro _check_retention(settings) %}
    {% set retention = settings.tombstone_retention %}
    {% if retention is none %}{{ return(none) }}{% endif %}
    {% if retention is boolean or (retention < 0 if retention is number else retention is not string or retention == '') %}
        {% do collapsing._raise_setting(
            settings.model, 'tombstone_retention', "SQL that can be subtracted from a version, such as 1000 or 'interval 7 days'", retention
        ) %}
    {% endif %}
    {% if settings.partition_by %}
        {% do collapsing._raise(
            settings.model, "settings 'tombstone_retention' and 'partition_by' exclude each other: an older row of another partition would be live again"
        ) %}
    {% endif %}
    {% if settings.version | length != 1 %}
        {% do collapsing._raise(
            settings.model, "setting 'tombstone_retention' is subtracted from the greatest version: it needs a 'version' of one column; given: "
            ~ (settings.version | join(', ') or 'nothing')
        ) %}
    {% endif %}
    {% if not settings.has_deletes %}
        {% do collapsing._raise(
            settings.model, "setting 'tombstone_retention' has no effect without deletes, which leave tombstones: remove it, or set 'is_deleted' or 'sign'"
        ) %}
    {% endif %}
{% endmacro %}
