{#
    Gives what an engine with an input asks for beside a key (`needs`), what says nothing to it (`silent`), and `because`, the
    reason of both.
#}
{% macro _engine_rules(settings) %}
    {% set marks_of_deletes = ['is_deleted', 'deletes', 'combine'] %}
    {% if settings.engine == 'deduplicating' %}
        {{ return({
            'needs': [],
            'silent': ['version', 'sign', 'partition_by', 'tombstone_retention'] + marks_of_deletes,
            'because': 'the first row of a key wins'
        }) }}
    {% elif settings.engine == 'replacing' %}
        {{ return({
            'needs': [] if settings.version else ['order_by'],
            'silent': ['deletes'],
            'because': 'without a version the last row to arrive wins, and a delete is ordered like any other row'
        }) }}
    {% elif settings.engine == 'collapsing' and settings.input == 'signed' %}
        {{ return({
            'needs': ['sign', 'order_by'],
            'silent': ['version', 'partition_by', 'tombstone_retention'] + marks_of_deletes,
            'because': 'rows bring their own cancel rows and count in the order in which they arrive'
        }) }}
    {% elif settings.engine == 'collapsing' %}
        {{ return({
            'needs': ['order_by'],
            'silent': ['version', 'deletes', 'partition_by', 'tombstone_retention'],
            'because': 'rows count in the order in which they arrive'
        }) }}
    {% elif settings.input == 'signed' %}
        {{ return({
            'needs': ['sign', 'version'],
            'silent': ['partition_by', 'tombstone_retention'] + marks_of_deletes,
            'because': 'rows bring their own cancel rows, each with the version that it cancels'
        }) }}
    {% endif %}
    {{ return({'needs': ['version'], 'silent': ['partition_by'], 'because': 'the newest version of a key is live'}) }}
{% endmacro %}


{# Stops when an engine lacks a setting, or is given one that says nothing to it: a setting without effect would mislead. #}
{% macro _check_engine(model_name, settings, given) %}
    {% set engine = settings.engine ~ (' with input: signed' if settings.input == 'signed' else '') %}
    {% if settings.input == 'signed' and settings.engine in ['replacing', 'deduplicating'] %}
        {{ collapsing._refuse(
            model_name, "setting 'input: signed' is for the engines versioned_collapsing and collapsing; " ~ settings.engine ~ ' has no cancel rows'
        ) }}
    {% endif %}
    {% set rules = collapsing._engine_rules(settings) %}
    {% for setting in ['key'] + rules.needs if not settings[setting] %}
        {{ collapsing._refuse_setting(
            model_name, setting,
            ('a column' if setting == 'sign' else 'a column or a list of columns') ~ ' (the engine ' ~ engine ~ ' needs it'
            ~ (': ' ~ rules.because if setting != 'key') ~ ')', 'nothing'
        ) }}
    {% endfor %}
    {% for setting in rules.silent if setting in given %}
        {{ collapsing._refuse(
            model_name, "setting '" ~ setting ~ "' says nothing to the engine " ~ engine ~ ': ' ~ rules.because
        ) }}
    {% endfor %}
{% endmacro %}
