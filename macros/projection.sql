{% macro projection(ledger) -%}
    {{- config(
        materialized='incremental',
        incremental_strategy='insert_overwrite',
        partition_by='ledger_batch',
        post_hook='{{ collapsing._close_projection(this) }}'
    ) -}}
    {%- if execute -%}
        {%- set finer = collapsing._finer_of(ledger) -%}
        {%- set settings = collapsing._projection_settings(model.name, model.config.meta.get('collapsing')) -%}
        {%- for measure in settings.measures if finer -%}
            {%- do collapsing._finer_measure(measure, finer) -%}
        {%- endfor -%}
        {%- do collapsing._begin_writing(ledger) -%}
        {%- set types = collapsing._types_of(ledger) if finer else collapsing._argument_types(ledger, settings) -%}
        {%- set position = collapsing._position_of(this, ledger, settings) -%}
        {%- set rows = ledger if position.after is not none else collapsing._counted_rows(ledger) -%}
        {%- set parts = collapsing._in_kept_types(collapsing._project(rows, settings, types, position, finer)) -%}
        {%- do collapsing._begin_table(this, parts, position.after is none) -%}
        {{- parts -}}
    {%- endif -%}
{%- endmacro %}
