{% macro projection(ledger) -%}
    {{- config(materialized='incremental_projection') -}}
    {{- collapsing._preview_of_projection(ledger) if collapsing._is_preview()
        else collapsing._read_by_model('projection', ledger) -}}
{%- endmacro %}


{# Returns the preview for commands that only show a model: the query of the partial sums that the next run would append. #}
{% macro _preview_of_projection(ledger) %}
    {% do collapsing._read_by_model('projection', ledger) %}
    {% set source, settings = collapsing._source_relation(model), collapsing._projection_settings(model) %}
    {% set instead = collapsing._instead_of_preview(source) %}
    {% if instead %}{{ return(instead) }}{% endif %}
    {% set read, of_source = collapsing._batches_of(this), collapsing._batches_of(source) %}
    {% set upto = of_source.last if of_source else 0 %}
    {% set goes_on = read and not collapsing._is_rebuilt_since(read, of_source) %}
    {% set span = {'after': read.last if goes_on else none, 'upto': upto, 'number': upto} %}
    {% set rows = source if goes_on else collapsing._visible_rows(source) %}
    {{ return(collapsing._project(rows, settings, collapsing._argument_types(source, settings), span)) }}
{% endmacro %}


{# Raises an error where a projection's SQL is more than its call: its runs read batches of the ledger, not the rest. #}
{% macro _check_is_call(sql, ledger) %}
    {% if modules.re.sub('(?s)/\\*.*?\\*/|--[^\\n]*', '', sql).strip() != 'select * from ' ~ ledger %}
        {% do collapsing._raise(
            model.name, "its SQL must be {{ collapsing.projection(ref('...')) }} alone: filter and join in a model that selects from"
            ~ ' collapsing.final() of it'
        ) %}
    {% endif %}
{% endmacro %}
