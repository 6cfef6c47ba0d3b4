{% macro projection(ledger) -%}
    {{- config(materialized='incremental_projection') -}}
    {{- collapsing._preview_of_projection(ledger) if collapsing._is_preview()
        else collapsing._read_by_model('projection', ledger) -}}
{%- endmacro %}


{# Returns the preview for commands that only show a model: the query of the partial sums that the next run would append. #}
{% macro _preview_of_projection(ledger) %}
    {% set query = collapsing._read_by_model('projection', ledger) %}
    {% set settings, own = collapsing._projection_settings(model), collapsing._table(this) %}
    {% set table = collapsing._table(collapsing._source_relation(model)) %}
    {% if table is none %}
        {{ return('-- what it reads is not there yet: what a run appends is shown once it is\n' ~ query) }}
    {% endif %}
    {% set read = collapsing._sql_is_summed(collapsing._projection_act(own, table, settings).act, own, table) %}
    {{ return(collapsing._project(table.relation, settings, collapsing._argument_types(table, settings), read)) }}
{% endmacro %}


{# Raises an error where a projection's SQL is more than its call: its runs read batches of the ledger, not the rest. #}
{% macro _check_is_call(sql, ledger) %}
    {% if modules.re.sub('(?s)/\\*.*?\\*/|--[^\\n]*', '', sql).strip() != 'select * from ' ~ ledger %}
        {% do collapsing._raise(
            model.name, "its SQL must be {{ collapsing.projection(ref('...')) }} alone: filter and join in a model that selects"
            ~ ' from collapsing.final() of it'
        ) %}
    {% endif %}
{% endmacro %}
