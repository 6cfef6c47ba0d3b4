{#
    Makes sure that a projection's table exists and fits its ledger and settings; returns
        after, upto   the batches (after, upto] of its ledger are unread; `after` none where all of it is to be read
        number        the batch number of the rows that this run writes
        types         as _project takes them
        batches       as _batches_of returns it of the projection
        rebuild       whether what it has is to be replaced, in one commit, by a base that is read from the whole of its ledger
        properties    what a rebuilt table is marked with; `unsigned` is that of the rows that are there until then, without signature
    A table that no longer fits, because its ledger was rebuilt or its settings have changed, is rebuilt: as a new base if its columns
    stay the same, so that readers never lose it; otherwise the table is created again.
#}
{% macro _ready_partials(projection, existing, source, settings) %}
    {% set described = collapsing._describe(projection) if existing is not none and not existing.is_view else none %}
    {% do collapsing._check_no_ledger(projection, described) %}
    {#- the projection's batches are listed first: it may not seem to have read more than its ledger has -#}
    {% set read = collapsing._batches_of(projection, described=described) if described else none %}
    {% set of_source = collapsing._batches_of(collapsing._plain(source)) %}
    {% set upto, signature = (of_source or {'last': 0}).last, collapsing._signature(settings) %}
    {% set built_from = (collapsing._property_in(described, 'collapsing.projection') or {}) if described else {} %}
    {% set stale = collapsing._why_stale(projection, described, built_from, source, signature, read, of_source)
        if described else none %}
    {% if flags.EMPTY and described and (stale or should_full_refresh()) %}
        {% if stale %}
            {% do collapsing._say(model.name, stale ~ ': --empty leaves it as it is, and the next run rebuilds it') %}
        {% endif %}
        {{ return({'after': none, 'upto': 0, 'batches': none, 'rebuild': false}) }}
    {% endif %}
    {% if described and not stale and not should_full_refresh() %}
        {{ return({
            'after': read.last if read else none, 'upto': upto, 'number': upto, 'batches': read, 'rebuild': false,
            'types': collapsing._property_in(described, 'collapsing.types')
        }) }}
    {% endif %}
    {% if stale %}{% do collapsing._say(model.name, stale ~ ': rebuilding it from all of ' ~ source.identifier) %}{% endif %}

    {% set types = collapsing._checked_types(source, settings) %}
    {% set built = {
        'signature': signature, 'settings': collapsing._settings_stored(settings), 'source': collapsing._plain(source) | string,
        'session': collapsing._session_settings() if collapsing._computes(settings) else {}
    } %}
    {% set properties = {
        'collapsing.projection': collapsing._as_property(built), 'collapsing.types': collapsing._as_property(types)
    } %}
    {% set all = {
        'after': none, 'upto': upto, 'number': upto, 'types': types, 'batches': none, 'rebuild': false, 'unsigned': dict(built_from, signature=none)
    } %}
    {% set columns = collapsing._stored_columns(
        collapsing._columns_of_query(collapsing._project(source, settings, types, all)), projection
    ) %}
    {% do collapsing._check_contract(columns) %}
    {% if described and (built_from.settings != built.settings or described.columns != columns) %}
        {% do collapsing._warn_of_views() %}
    {% endif %}
    {% if read and upto >= read.last and upto != read.base and described.columns == columns
        and collapsing._is_appendable(projection, described) %}
        {{ return(dict(all, rebuild=true, number=-upto, batches=read, properties=properties)) }}
    {% endif %}
    {% do collapsing._check_absent(model.name, projection) %}
    {% do collapsing._recreate(projection, columns, properties) %}
    {{ return(all) }}
{% endmacro %}


{# Returns whether a ledger has been rebuilt since a projection has read the batches `read`; both as _batches_of returns them. #}
{% macro _is_rebuilt_since(read, of_source) %}
    {{ return(not of_source or read.last > of_source.last or read.last < of_source.first) }}
{% endmacro %}


{# Returns why what a projection has cannot be added to, or none where it can; arguments as in _ready_partials. #}
{% macro _why_stale(projection, described, built_from, source, signature, read, of_source) %}
    {% if not collapsing._is_appendable(projection, described) %}
        {{ return('its table is not one that this package has created, in the format of the model') }}
    {% endif %}
    {% if built_from.signature != signature %}
        {{ return('its group_by or its measures are not those that it was built from') }}
    {% endif %}
    {% if built_from.source != collapsing._plain(source) | string %}
        {{ return('it was built from another table, ' ~ built_from.source) }}
    {% endif %}
    {% if read and collapsing._is_rebuilt_since(read, of_source) %}{{ return('what it reads has been rebuilt') }}{% endif %}
    {{ return(collapsing._why_other_session(built_from)) }}
{% endmacro %}


{# Returns why a projection may give other rows in this session than in that which it was built in, or none. #}
{% macro _why_other_session(built_from) %}
    {% if not built_from.session %}{{ return(none) }}{% endif %}
    {% set zone = collapsing._session_settings().zone %}
    {% if built_from.session.zone == zone %}{{ return(none) }}{% endif %}
    {{ return("its SQL may depend on the session's time zone, which was " ~ built_from.session.zone ~ ' and is ' ~ zone) }}
{% endmacro %}


{# Warns about views over this model that the command does not build: their SQL was made for its old columns and settings. #}
{% macro _warn_of_views() %}
    {% set views = [] %}
    {% for node in graph.nodes.values() if model.unique_id in node.depends_on.nodes and node.resource_type == 'model'
        and node.config.materialized == 'view' and node.unique_id not in selected_resources %}
        {% do views.append(node.name) %}
    {% endfor %}
    {% if views %}
        {% do collapsing._warn(
            model.name, "its columns or settings have changed: run the views that read it again: " ~ views | join(', ')
        ) %}
    {% endif %}
{% endmacro %}


{# Returns the relation of the one ledger that a projection reads. Raises an error where its model reads anything else. #}
{% macro _source_relation(node) %}
    {% set sources = collapsing._sources_of(node) %}
    {% for read in sources if collapsing._is_projection(read) %}
        {% do collapsing._raise(
            node.name, "it reads the projection '" ~ read.name ~ "', and a projection reads a ledger: aggregate collapsing.final(ref('"
            ~ read.name ~ "')) in a view"
        ) %}
    {% endfor %}
    {% if sources | length != 1 %}
        {% do collapsing._raise(
            node.name, 'a projection reads exactly one ledger (a model whose settings say how its rows collapse), through ref(); it reads '
            ~ (node.depends_on.nodes | map('replace', 'model.', '') | join(', ') or 'none')
        ) %}
    {% endif %}
    {% set ledger = sources[0] %}
    {% set settings = collapsing._ledger_settings(ledger) %}
    {% if not collapsing._engine(settings).adds_up %}
        {% do collapsing._raise(
            node.name, "the ledger '" ~ ledger.name ~ "' has the engine " ~ settings.engine
            ~ ': it has no cancel rows, so a replaced row would count for ever. Give the ledger the engine'
            ~ ' versioned_collapsing (or collapsing, where there is no version), or aggregate'
            ~ " collapsing.final(ref('" ~ ledger.name ~ "')) in a model of your own"
        ) %}
    {% endif %}
    {{ return(ref(ledger.package_name, ledger.name, version=ledger.version)) }}
{% endmacro %}


{# Returns a hash of what a projection is built from: its settings and what it reads. #}
{% macro _signature(settings) %}
    {{ return(local_md5(collapsing._settings_stored(settings) ~ ' ' ~ model.depends_on.nodes | join(' '))) }}
{% endmacro %}


{# Returns a hash of the settings of a projection. Raise `layout` when the same settings come to store other columns. #}
{% macro _settings_stored(settings) %}
    {% set layout, parts = 5, [] %}
    {% for name, sql in settings.group_by.items() %}
        {% do parts.append('group ' ~ name ~ ': ' ~ sql) %}
    {% endfor %}
    {% for measure in settings.measures %}
        {% do parts.append('measure ' ~ measure.name ~ ': ' ~ measure.aggregate) %}
    {% endfor %}
    {{ return(local_md5(layout ~ '\n' ~ parts | join('\n'))) }}
{% endmacro %}


{#
    Raises an error where the table of a projection was built by other settings than its model has now: its columns would be misread. `built`
    is the table's property.
#}
{% macro _check_built_as_set(node, table, built, settings) %}
    {#- the SQL that these two show may be that of the projection's next run, and --empty leaves a projection as it is -#}
    {% set is_other = built.settings and built.settings != collapsing._settings_stored(settings) %}
    {% if is_other and flags.WHICH not in ['compile', 'generate'] and not flags.EMPTY %}
        {% do collapsing._raise(
            node.name, 'its table ' ~ table ~ ' was built with a different group_by or different measures from those that the'
            ~ ' model has now: run it first'
        ) %}
    {% endif %}
{% endmacro %}
