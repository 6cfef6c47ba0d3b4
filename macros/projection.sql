{% macro projection(ledger) -%}
    {{- config(
        materialized='incremental',
        incremental_strategy='insert_overwrite',
        partition_by='ledger_batch',
        post_hook='{{ collapsing._sign_projection(this) }}'
    ) -}}
    {%- if execute -%}
        {%- do collapsing._refuse_unprojectable(ledger) -%}
        {%- set settings = collapsing._projection_settings(model.name, model.config.meta.get('collapsing')) -%}
        {%- set position = collapsing._position_of(this, ledger, settings) -%}
        {{- collapsing._project(ledger, settings, collapsing._argument_types(ledger, settings), position) -}}
    {%- endif -%}
{%- endmacro %}
