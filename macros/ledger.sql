{% macro ledger(stage) -%}
    {{- config(materialized='incremental_ledger') -}}
    {{- collapsing._preview_of_ledger(stage) if collapsing._is_preview() else collapsing._read_by_model('ledger', stage) -}}
{%- endmacro %}


{# Returns the preview for commands that only show a model: the query of the rows that the next run would append. #}
{% macro _preview_of_ledger(stage) %}
    {% set query = collapsing._read_by_model('ledger', stage) %}
    {% set settings = collapsing._ledger_settings(model) %}
    {% if stage.is_cte %}{{ return('-- the stage is ephemeral: only a run can read it\n' ~ query) }}{% endif %}
    {% if load_relation(stage) is none %}
        {{ return('-- the stage is not there yet: what a run appends is shown once it is\n' ~ query) }}
    {% endif %}
    {% set columns, table = collapsing._stage_columns(query, settings), collapsing._table(this) %}
    {% set names = collapsing._kept_columns(columns, settings) | map(attribute='name') | map('lower') %}
    {% if table and names | reject('in', table.columns | map(attribute='name') | map('lower') | list) | list %}
        {{ return('-- its table does not have all columns of the stage yet: what a run appends is shown once it has\n' ~ query) }}
    {% endif %}
    {% set notes = collapsing._notes_of(table) %}
    {% set takes = 'not (' ~ collapsing._sql_is_bad(settings) ~ ')' %}
    {% if notes.folded %}
        {% set takes = takes ~ ' and (' ~ collapsing._sql_is_unread(settings, columns, notes.folded) ~ ')' %}
    {% endif %}
    {% set batch = {'takes': takes, 'rows': 0, 'visible': collapsing._sql_is_visible(table) if table else none} %}
    {{ return(collapsing._fold(stage, table.relation if table else none, settings, columns, batch)) }}
{% endmacro %}


{# Returns the query of what a model reads: the stage of a ledger, or the ledger of a projection. #}
{% macro _read_by_model(kind, relation) %}
    {% if collapsing._knows_models() %}
        {% do collapsing._check_relation(kind, relation) %}
        {% if relation is string %}
            {% do collapsing._raise(
                model.name, kind ~ " takes a relation, such as ref('orders'), and no SQL: move that into a model of its own; given: "
                ~ relation.split() | join(' ')
            ) %}
        {% endif %}
        {#- a view that this command builds keeps to the sample, and its name does not say so -#}
        {% if invocation_args_dict.sample and not flags.EMPTY %}
            {% do collapsing._raise(
                model.name, 'under --sample it may read only a part of ' ~ collapsing._plain(relation) ~ ', and all of it would count as read: the rest'
                ~ ' would never be read. Run this model without --sample, or sample in the SQL of the stage'
            ) %}
        {% endif %}
    {% endif %}
    {{ return('select * from ' ~ relation) }}
{% endmacro %}
