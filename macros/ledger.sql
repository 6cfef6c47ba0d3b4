{% macro ledger(stage) -%}
    {{- config(
        materialized='incremental',
        incremental_strategy='insert_overwrite',
        partition_by='ledger_batch',
        post_hook=['{{ collapsing._close_batch(this) }}', '{{ collapsing._sign_ledger(this) }}']
    ) -}}
    {%- if execute -%}
        {%- set settings = collapsing._ledger_settings(model.name, model.config.meta.get('collapsing')) -%}
        {%- set columns = collapsing._stage_columns(stage, settings, model.name) -%}
        {%- set is_fresh = not is_incremental() -%}
        {%- do collapsing._refuse_changed_rules(this, settings) if not is_fresh -%}
        {%- do collapsing._follow_columns(this, settings, columns) if not is_fresh -%}
        {%- set batch = collapsing._take_batch(stage, this, settings, columns, is_fresh) -%}
        {{- collapsing._fold(stage, none if is_fresh else this, settings, columns, batch) -}}
    {%- endif -%}
{%- endmacro %}
