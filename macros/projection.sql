{% macro projection(ledger) -%}
    {{- config(materialized='incremental_projection') -}}
    {%- do collapsing._check_call('projection') if collapsing._knows_models() -%}
    {%- if not collapsing._knows_models() or collapsing._may_write() or model.resource_type != 'model' -%}
        {%- do collapsing._check_read('projection', ledger) if collapsing._knows_models() -%}
        select * from {{ ledger }}
    {%- else -%}
        {{- collapsing._preview_of_projection(ledger) -}}
    {%- endif -%}
{%- endmacro %}


{# Returns the preview for commands that only show a model: the query of the partials that the next run would append. #}
{% macro _preview_of_projection(source) %}
    {% set settings = collapsing._projection_settings(model) %}
    {% set source_projection = collapsing._source_projection(source, settings) %}
    {% set query = 'select * from ' ~ source %}
    {% do return('-- what it reads is not there yet: what a run appends is shown once it is\n' ~ query)
        if load_relation(source) is none %}
    {% do return('-- what it reads does not have all its columns yet: what a run appends is shown once it has\n' ~ query)
        if collapsing._awaits_columns(source) %}
    {% set types = collapsing._types_of(source) if source_projection else collapsing._argument_types(source, settings) %}
    {% set read, of_source = collapsing._batches_of(this), collapsing._batches_of(source) %}
    {% set upto = of_source.last if of_source else 0 %}
    {% set unread = {'after': read.last if read else none, 'upto': upto, 'number': upto} %}
    {% set rows = source if read else collapsing._visible_rows(source) %}
    {{ return(collapsing._project(rows, settings, types, unread, source_projection)) }}
{% endmacro %}
