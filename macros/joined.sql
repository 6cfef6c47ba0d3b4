{% macro joined(first) -%}
    {{- config(materialized='incremental_joined') -}}
    {%- do collapsing._check_call('joined') if collapsing._knows_models() -%}
    {%- if collapsing._knows_models() and model.unique_id in graph.nodes -%}
        {{- collapsing._raise(model.name, 'joined takes one relation, and others by name: joined(first, shops=second)')
            if varargs -}}
        {#- only this call knows which relation its SQL gives for which name, and the materialization needs it -#}
        {%- do graph.nodes[model.unique_id].update({'collapsing_sides': {'first': first, 'others': kwargs}}) -%}
    {%- endif -%}
    {{- collapsing._preview_of_joined() if collapsing._is_preview()
        else collapsing._query_of('joined', [first] + kwargs.values() | list) -}}
{%- endmacro %}


{# Returns what a command that only shows the model sees: the query of the rows that the next run would append. #}
{% macro _preview_of_joined() %}
    {% set settings = collapsing._ledger_settings(model) %}
    {% set batches = collapsing._batches_of(this) %}
    {% set sides = collapsing._sides(settings, collapsing._watermarks_of(this, batches).read) %}
    {% for side in sides %}
        {% set instead = collapsing._instead_of_preview(side.relation) %}
        {% do return(instead) if instead %}
    {% endfor %}
    {% do collapsing._reset_if_stale(sides, batches) %}
    {% do collapsing._take_columns(sides) %}
    {% set number = 1 + (batches.last if batches else 0) %}
    {% do return(collapsing._whole_join(sides, number)) if sides[0].after is none %}
    {#- nothing is cached: what a run caches is a CTE here -#}
    {% set ctes = [] %}
    {% for side in sides[1:] if side.after < side.upto %}
        {% do side.update({'changed': 'changed_' ~ side.name}) %}
        {% do ctes.append('changed_' ~ side.name ~ ' as (\n' ~ collapsing._changed_rows(side) ~ '\n)') %}
    {% endfor %}
    {% set stayed = {'rows': 'keys_that_find_changes', 'bounds': none, 'count': 0} if ctes else none %}
    {% do ctes.append('keys_that_find_changes as (\n' ~ collapsing._keys_that_find_changes(sides) ~ '\n)') if stayed %}
    {% do ctes.append('unread as (\n' ~ collapsing._rows_to_join(sides, stayed) ~ '\n)') %}
    {{ return(collapsing._joined_rows(sides, 'unread', number, ctes)) }}
{% endmacro %}
