{% macro ledger(stage) -%}
    {{- config(
        materialized='incremental',
        incremental_strategy='insert_overwrite',
        partition_by='ledger_batch',
        post_hook='{{ collapsing._close_batch(this) }}'
    ) -}}
    {%- if execute -%}
        {%- set settings = collapsing._ledger_settings(model.name, model.config.meta.get('collapsing')) -%}
        {%- set columns = collapsing._stage_columns(stage, settings, model.name) -%}
        {%- do collapsing._begin_writing(stage) -%}
        {%- do collapsing._guard_full_refresh(collapsing._in_shard(stage, settings), this, settings) -%}
        {%- set held = collapsing._batches_of(this) if is_incremental() else none -%}
        {%- if held -%}
            {%- do collapsing._refuse_changed_rules(this, settings) -%}
            {%- do collapsing._refuse_lost_notes(this, settings) -%}
            {%- do collapsing._follow_columns(this, settings, columns) -%}
            {%- do collapsing._drop_covered(this, held) if collapsing._may_write() -%}
        {%- endif -%}
        {%- set stage = collapsing._in_shard(collapsing._resolved_once(stage), settings) -%}
        {%- set batch = collapsing._take_batch(stage, this, settings, columns, held) -%}
        {%- set fold = collapsing._in_kept_types(collapsing._fold(stage, this if held else none, settings, columns, batch)) -%}
        {%- do collapsing._begin_table(this, fold, not held) -%}
        {{- fold -}}
    {%- endif -%}
{%- endmacro %}
