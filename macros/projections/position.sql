{#
    Gives {after, upto}: the ledger's batches that a projection has still to read. A projection that no longer fits its
    ledger (rebuilt since) or its own settings (changed since) is dropped here and builds itself from the whole ledger.
#}
{% macro _position_of(projection, ledger, settings) %}
    {% set held = collapsing._batches_of(ledger) %}
    {% set upto = held.last if held else 0 %}
    {% if not is_incremental() %}
        {{ return({'after': none, 'upto': upto}) }}
    {% endif %}

    {% set read = collapsing._batches_of(projection) %}
    {% set stale = none %}
    {% if collapsing._property_of(projection, 'collapsing.signature') != collapsing._signature(settings) %}
        {% set stale = 'its group_by or measures have changed' %}
    {% elif read and (not held or read.last > held.last or read.last < held.first) %}
        {% set stale = 'its ledger has been rebuilt' %}
    {% endif %}
    {% if stale and collapsing._may_write() %}
        {% do collapsing._log(stale ~ ': building it again from the whole ledger') %}
        {% do collapsing._drop_marked(projection) %}
        {{ return({'after': none, 'upto': upto}) }}
    {% endif %}
    {{ return({'after': read.last if read else none, 'upto': upto}) }}
{% endmacro %}


{# Gives what tells one set of projection settings from another. #}
{% macro _signature(settings) %}
    {{ return(local_md5(tojson(settings))) }}
{% endmacro %}


{# Runs after a projection's insert: marks a new table with the settings that it was built with, and lets it go. #}
{% macro _close_projection(projection) %}
    {% if execute %}
        {% set settings = collapsing._projection_settings(model.name, model.config.meta.get('collapsing')) %}
        {% set signature = collapsing._signature(settings) %}
        {% if collapsing._property_of(projection, 'collapsing.signature') != signature %}
            {% call statement('sign_projection') %}
                alter table {{ projection }} set tblproperties ('collapsing.signature' = '{{ signature }}')
            {% endcall %}
        {% endif %}
        {% do collapsing._finish_table(projection) %}
        {% do collapsing._merge_many_parts(projection) %}
        {% do collapsing._release_hold(projection) %}
    {% endif %}
{% endmacro %}
