{% macro projection(ledger) -%}
    {{- config(
        materialized='incremental',
        incremental_strategy='insert_overwrite',
        partition_by='ledger_batch',
        post_hook='{{ collapsing._sign_projection(this) }}'
    ) -}}
    {%- if execute -%}
        {%- set finer = collapsing._finer_of(ledger) -%}
        {%- set settings = collapsing._projection_settings(model.name, model.config.meta.get('collapsing')) -%}
        {%- for measure in settings.measures if finer -%}
            {%- do collapsing._finer_measure(measure, finer) -%}
        {%- endfor -%}
        {%- set types = collapsing._types_of(ledger) if finer else collapsing._argument_types(ledger, settings) -%}
        {%- set position = collapsing._position_of(this, ledger, settings) -%}
        {{- collapsing._project(ledger, settings, types, position, finer) -}}
    {%- endif -%}
{%- endmacro %}
