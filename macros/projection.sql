{% macro projection(ledger) -%}
    {{- config(materialized='incremental_projection') -}}
    {%- do collapsing._check_call('projection') if collapsing._knows_models() -%}
    {{- collapsing._preview_of_projection(ledger) if collapsing._is_preview()
        else collapsing._query_of('projection', [ledger]) -}}
{%- endmacro %}


{# Returns the preview for commands that only show a model: the query of the partials that the next run would append. #}
{% macro _preview_of_projection(source) %}
    {% do collapsing._check_relation('projection', source) %}
    {% set settings = collapsing._projection_settings(model) %}
    {% set source_projection = collapsing._source_projection(source, settings) %}
    {% set instead = collapsing._instead_of_preview(source) %}
    {% do return(instead) if instead %}
    {% set types = collapsing._types_to_sum(source, settings, source_projection) %}
    {% set read, of_source = collapsing._batches_of(this), collapsing._batches_of(source) %}
    {% set upto = of_source.last if of_source else 0 %}
    {% set goes_on = read and not collapsing._is_rebuilt_since(read, of_source) %}
    {% set span = {'after': read.last if goes_on else none, 'upto': upto, 'number': upto} %}
    {% set rows = source if goes_on else collapsing._visible_rows(source) %}
    {{ return(collapsing._project(rows, settings, types, span, source_projection)) }}
{% endmacro %}
