{% macro ledger(stage) -%}
    {{- config(materialized='incremental_ledger') -}}
    {%- do collapsing._check_call('ledger') if collapsing._knows_models() -%}
    {{- collapsing._preview_of_ledger(stage) if collapsing._is_preview() else collapsing._query_of('ledger', [stage]) -}}
{%- endmacro %}


{# Returns the preview for commands that only show a model: the query of the rows that the next run would append. #}
{% macro _preview_of_ledger(stage) %}
    {% do collapsing._check_relation('ledger', stage) %}
    {% set settings = collapsing._ledger_settings(model) %}
    {% set query = 'select * from ' ~ stage %}
    {% do return('-- the stage is ephemeral: only a run can read it\n' ~ query) if stage.is_cte %}
    {% do return('-- the stage is not there yet: what a run appends is shown once it is\n' ~ query)
        if load_relation(stage) is none %}
    {% set columns, batches = collapsing._stage_columns(query, settings), collapsing._batches_of(this) %}
    {% do return('-- its table does not have all columns of the stage yet: what a run appends is shown once it has\n' ~ query)
        if batches and collapsing._awaits_columns(this) %}
    {% set manifest = collapsing._manifest_of(this, batches, with_blocks=true) %}
    {% set batch = {
        'number': 1 + (batches.last if batches else 0),
        'takes': 'not (' ~ collapsing._sql_is_bad(settings) ~ ')'
            ~ (' and (' ~ collapsing._sql_is_unread(settings, columns, manifest.folded) ~ ')' if manifest.folded else ''),
        'rows': 0, 'bounds': none, 'voided': manifest.voided
    } %}
    {{ return(collapsing._fold(
        collapsing._rows_of_shard(stage, settings), this if batches else none, settings, columns, batch
    )) }}
{% endmacro %}


{# Returns the query of a model's SQL, which reads `read`, and keeps it for _check_model, which looks for more around it. #}
{% macro _query_of(kind, read) %}
    {% for relation in read if collapsing._knows_models() %}
        {% do collapsing._check_relation(kind, relation) %}
        {{ collapsing._raise(
            model.name, kind ~ " takes a relation, such as ref('orders'), and no SQL: move that into a model of its own; given: "
            ~ relation.split() | join(' ') | truncate(80)
        ) if relation is string }}
        {% do collapsing._check_built(relation) %}
        {#- a view that this command builds keeps to the sample, and its name does not say so -#}
        {{ collapsing._raise(
            model.name, 'under --sample it may read only a part of ' ~ collapsing._plain(relation) ~ ', and all of it would count as read: the rest'
            ~ ' would never be read. Run this model without --sample, or sample in the SQL of the stage'
        ) if invocation_args_dict.get('sample') and not flags.EMPTY }}
    {% endfor %}
    {% set query = 'select * from ' ~ read[0] %}
    {% do graph.nodes[model.unique_id].update({'collapsing_query': query})
        if collapsing._knows_models() and model.unique_id in graph.nodes %}
    {{ return(query) }}
{% endmacro %}
