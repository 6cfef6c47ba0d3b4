{#
    Gives the columns of a stage as a list of {name, dtype}, in the stage's order, spelled as the settings spell them. Checks
    that the stage can be read by name, that every column a setting names is there, and that none takes a name of ours.
#}
{% macro _stage_columns(stage, settings, model_name) %}
    {% set columns = [] %}
    {% for column in adapter.get_columns_in_relation(collapsing._named(stage)) %}
        {% do columns.append({'name': column.name, 'dtype': column.dtype}) %}
    {% endfor %}
    {% if not columns %}
        {{ collapsing._refuse(
            model_name,
            "the stage " ~ stage ~ " has no columns: it must be a table or a view that exists (an ephemeral model is neither)"
        ) }}
    {% endif %}

    {% for column in columns if column.name.lower().startswith('ledger_') %}
        {{ collapsing._refuse(
            model_name, "the stage's column '" ~ column.name ~ "' begins with ledger_: such names are the package's own"
        ) }}
    {% endfor %}
    {% for setting in ['key', 'version', 'order_by', 'partition_by', 'sign', 'is_deleted', 'block', 'combine'] %}
        {% set named = settings[setting] %}
        {% for name in ([named] if named is string else named or []) %}
            {% do collapsing._spell(columns, name) %}
            {% set names = columns | map(attribute='name') | list %}
            {% if name not in names %}
                {{ collapsing._refuse_setting(
                    model_name, setting, 'a column of the stage ' ~ stage ~ ' (' ~ names | join(', ') ~ ')', name
                ) }}
            {% endif %}
        {% endfor %}
    {% endfor %}
    {{ return(columns) }}
{% endmacro %}


{#
    Spells a column as a setting does. To Spark letters of either case are one, and a view may not have kept them: Iceberg's in a Hive
    catalog has small ones alone.
#}
{% macro _spell(columns, name) %}
    {% if name not in columns | map(attribute='name') | list %}
        {% for column in columns if column.name.lower() == name.lower() %}
            {% do column.update({'name': name}) %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{# Gives the columns that a ledger keeps: all but the block token and what marks a delete. A signed row keeps its sign. #}
{% macro _kept_columns(columns, settings) %}
    {% set marks = [settings.block, settings.is_deleted] + ([settings.sign] if settings.input == 'events' else []) %}
    {{ return(columns | rejectattr('name', 'in', marks) | list) }}
{% endmacro %}
