{% macro ledger(stage) -%}
    {{- config(materialized='incremental_ledger') -}}
    {%- do collapsing._check_call('ledger') if collapsing._knows_models() -%}
    {%- if not collapsing._is_preview() -%}
        {%- do collapsing._check_read('ledger', stage) if collapsing._knows_models() -%}
        select * from {{ stage }}
    {%- else -%}
        {{- collapsing._preview_of_ledger(stage) -}}
    {%- endif -%}
{%- endmacro %}


{# Returns the preview for commands that only show a model: the query of the rows that the next run would append. #}
{% macro _preview_of_ledger(stage) %}
    {% set settings = collapsing._ledger_settings(model) %}
    {% set query = 'select * from ' ~ stage %}
    {% do return('-- the stage is ephemeral: only a run can read it\n' ~ query) if stage.is_cte %}
    {% do return('-- the stage is not there yet: what a run appends is shown once it is\n' ~ query)
        if load_relation(stage) is none %}
    {% set columns, batches = collapsing._stage_columns(query, settings), collapsing._batches_of(this) %}
    {% do return('-- its table does not have all columns of the stage yet: what a run appends is shown once it has\n' ~ query)
        if batches and collapsing._awaits_columns(this) %}
    {% set manifest = collapsing._manifest_of(this, batches, with_blocks=true) %}
    {% set batch = {
        'number': 1 + (batches.last if batches else 0),
        'takes': 'not (' ~ collapsing._sql_is_bad(settings) ~ ')'
            ~ (' and (' ~ collapsing._sql_is_unread(settings, columns, manifest.folded) ~ ')' if manifest.folded else ''),
        'rows': 0, 'bounds': none, 'voided': manifest.voided
    } %}
    {{ return(collapsing._fold(
        collapsing._rows_of_shard(stage, settings), this if batches else none, settings, columns, batch
    )) }}
{% endmacro %}


{# Raises an error where a macro is not given a built relation, or --sample would read a part of it and count it as read whole. #}
{% macro _check_read(macro_name, relation) %}
    {% do collapsing._check_relation(macro_name, relation) %}
    {% do collapsing._check_built(relation) %}
    {% if relation is not string and collapsing._is_subquery(relation) and not flags.EMPTY %}
        {{ collapsing._raise(
            model.name, '--sample reads only a part of ' ~ collapsing._plain(relation) ~ ', and all of it would count as read: the rest'
            ~ ' would never be read. Run this model without --sample, or sample in the SQL of the stage'
        ) }}
    {% endif %}
{% endmacro %}
