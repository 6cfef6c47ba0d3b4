{#
    Gives {after, upto}: the batches that a projection has still to read of its source, a ledger or a finer projection. One that
    no longer fits its source (rebuilt since) or its own settings (changed since) is dropped here and builds itself from all of it.
#}
{% macro _position_of(projection, source, settings) %}
    {% set held = collapsing._batches_of(source) %}
    {% set upto = held.last if held else 0 %}
    {% if not is_incremental() %}
        {{ return({'after': none, 'upto': upto}) }}
    {% endif %}

    {% set read = collapsing._batches_of(projection) %}
    {% set stale = none %}
    {% if collapsing._property_of(projection, 'collapsing.signature') != collapsing._signature(settings) %}
        {% set stale = 'its group_by, its measures or the projection that it reads are not those that it was built from' %}
    {% elif read and (not held or read.last > held.last or read.last < held.first) %}
        {% set stale = 'what it reads has been rebuilt' %}
    {% endif %}
    {% if stale and collapsing._may_write() %}
        {% do collapsing._log(stale ~ ': building it again from the whole of ' ~ source.identifier) %}
        {% do collapsing._drop_marked(projection) %}
        {{ return({'after': none, 'upto': upto}) }}
    {% endif %}
    {{ return({'after': read.last if read else none, 'upto': upto}) }}
{% endmacro %}


{#
    Gives what tells apart what a projection can have been built from: its settings, the models that it reads, and the build of
    a finer projection among them. `layout` is to be raised when other columns are kept for the same settings: dbt would insert
    into the columns of the old table and leave out the rest.
#}
{% macro _signature(settings) %}
    {{ return(local_md5(tojson({
        'layout': 2, 'settings': settings, 'reads': model.depends_on.nodes, 'finer_builds': collapsing._finer_builds()
    }))) }}
{% endmacro %}


{#
    Gives the names of the builds of the projections that this model reads. Batch numbers do not tell two builds apart: one that
    is built again holds the number of the ledger's last batch, as it may have done before.
#}
{% macro _finer_builds() %}
    {% set builds = {} %}
    {% for node in graph.nodes.values()
        if node.unique_id in model.depends_on.nodes and collapsing._kind_if_any(node) == 'projection' %}
        {% set finer = adapter.get_relation(node.database, node.schema, node.alias) %}
        {% do builds.update({node.unique_id: collapsing._property_of(finer, 'collapsing.build') if finer else none}) %}
    {% endfor %}
    {{ return(builds | dictsort) }}
{% endmacro %}


{#
    Marks a new table with what it was built from, and with a name of this build for coarser projections. A table that is marked
    stays so: another mark would hide that it does not fit any more.
#}
{% macro _sign_projection(projection) %}
    {% if not is_incremental() or collapsing._property_of(projection, 'collapsing.signature') is none %}
        {% set settings = collapsing._projection_settings(model.name, model.config.meta.get('collapsing')) %}
        {% call statement('sign_projection') %}
            alter table {{ projection }} set tblproperties (
                'collapsing.signature' = '{{ collapsing._signature(settings) }}', 'collapsing.build' = '{{ invocation_id }}'
            )
        {% endcall %}
    {% endif %}
{% endmacro %}


{# Runs after a projection's insert: marks a new table, merges parts where there are many, and lets the table go. #}
{% macro _close_projection(projection) %}
    {% if execute %}
        {% do collapsing._sign_projection(projection) %}
        {% do collapsing._finish_table(projection) %}
        {% do collapsing._merge_many_parts(projection) %}
        {% do collapsing._release_hold(projection) %}
    {% endif %}
{% endmacro %}
