{#
    Makes sure that a projection's table exists and fits its source and settings; returns
        after, upto   the batches (after, upto] of its source are unread; `after` none where all of it is to be read
        number        the batch number of the rows that this run writes
        types         as _project takes them
        batches       as _batches_of returns it of the projection
        rebuild       whether what it has is to be replaced, in one commit, by a base that is read from the whole of its source
        properties    what a rebuilt table is marked with; `unsigned` is that of the rows that are there until then, without signature
    A table that no longer fits, because its source was rebuilt or its settings have changed, is rebuilt: as a new base if its columns
    stay the same, so that readers never lose it; otherwise the table is created again.
#}
{% macro _ready_partials(projection, existing, source, settings, source_projection) %}
    {% set described = collapsing._describe(projection) if existing is not none and not existing.is_view else none %}
    {% do collapsing._check_no_ledger(projection, described) %}
    {% set read = collapsing._batches_of(projection, described=described) if described else none %}
    {% set of_source = collapsing._batches_of_source(source, at_least=read.last if read else 0) %}
    {% set upto, signature = of_source.last if of_source else 0, collapsing._signature(settings, source, source_projection) %}
    {% set built_from = (collapsing._property_in(described, 'collapsing.projection') or {}) if described else {} %}
    {% set session = collapsing._session_settings() if built_from.session else {} %}

    {% set stale = collapsing._why_stale(projection, described, built_from, source, signature, session, read, of_source)
        if described else none %}
    {% if flags.EMPTY and described and (stale or should_full_refresh()) %}
        {% do collapsing._say(model.name, stale ~ ': --empty leaves it as it is, and the next run builds it again') if stale %}
        {{ return({'after': none, 'upto': 0, 'batches': none, 'rebuild': false}) }}
    {% endif %}
    {% do collapsing._say(model.name, stale ~ ': building it again from the whole of ' ~ source.identifier) if stale %}
    {% set shown = local_md5(tojson(settings)) %}
    {% if described and not stale and not should_full_refresh() %}
        {% do collapsing._check_quotients(settings, described.columns) %}
        {% do collapsing._show_other_quotients(projection, dict(built_from, shown=shown)) if built_from.shown != shown %}
        {{ return({
            'after': read.last if read else none, 'upto': upto, 'number': upto, 'batches': read, 'rebuild': false,
            'types': collapsing._property_in(described, 'collapsing.types')
        }) }}
    {% endif %}

    {% set session = collapsing._check_projection_sql(source, settings, source_projection) %}
    {% set types = collapsing._types_to_sum(source, settings, source_projection) %}
    {% set built = {
        'signature': signature, 'source': collapsing._plain(source) | string, 'build': invocation_id, 'session': session,
        'settings': collapsing._settings_stored(settings), 'shown': shown, 'shards': collapsing._shards_of(model)
    } %}
    {% set properties = {
        'collapsing.projection': collapsing._as_property(built), 'collapsing.types': collapsing._as_property(types)
    } %}
    {% set all = {
        'after': none, 'upto': upto, 'number': upto, 'types': types, 'batches': none, 'rebuild': false, 'unsigned': dict(built_from, signature=none)
    } %}
    {% set columns = collapsing._columns_of_query(collapsing._project(source, settings, types, all, source_projection)) %}
    {% set columns = collapsing._stored_columns(columns, projection) %}
    {% do collapsing._check_quotients(settings, columns) %}
    {% do collapsing._check_contract(columns) %}
    {% do collapsing._warn_of_views() if described and (built_from.shown != shown or described.columns != columns) %}
    {% do return(dict(all, rebuild=true, number=-upto, batches=read, properties=properties))
        if read and upto >= read.last and upto != read.base and described.columns == columns
        and collapsing._is_appendable(projection, described) %}
    {% do collapsing._create_projection(projection, columns, properties) %}
    {{ return(all) }}
{% endmacro %}


{# Marks a projection as one that shows the quotients of its settings, for which nothing is stored, and warns about its views. #}
{% macro _show_other_quotients(projection, built) %}
    {% do collapsing._warn_of_views() %}
    {% do collapsing._set_properties(projection, {'collapsing.projection': collapsing._as_property(built)}) %}
{% endmacro %}


{#
    Creates a projection's table, empty. Raises an error where the schema has given text columns a collation of its own: groups that differ
    would become one.
#}
{% macro _create_projection(projection, columns, properties) %}
    {% do collapsing._check_absent(model.name, projection) %}
    {% do collapsing._recreate(projection, columns, properties) %}
    {% set stored = collapsing._types_of(projection) %}
    {% for column in columns if collapsing._has_collation(stored[column.name]) and not collapsing._has_collation(column.dtype) %}
        {% do adapter.drop_relation(projection) %}
        {{ collapsing._raise(
            model.name, "its column '" ~ column.name ~ "' has become " ~ stored[column.name] ~ ', by the default collation of the schema ' ~ projection.schema
            ~ ': groups that differ would become one. Put the model into a schema without a default collation'
        ) }}
    {% endfor %}
{% endmacro %}


{# Returns whether what a projection reads has been built anew since the batches `read`; both as _batches_of returns them. #}
{% macro _is_rebuilt_since(read, of_source) %}
    {{ return(not of_source or read.last > of_source.last or read.last < of_source.first) }}
{% endmacro %}


{# Returns why what a projection has cannot be added to, or none where it can; arguments as in _ready_partials. #}
{% macro _why_stale(projection, described, built_from, source, signature, session, read, of_source) %}
    {% do return('its table is not one that this package has created, in the format of the model')
        if not collapsing._is_appendable(projection, described) %}
    {% do return('its group_by, its measures or the projection that it reads are not those that it was built from')
        if built_from.signature != signature %}
    {% do return('it was built from another table, ' ~ built_from.source)
        if built_from.source != collapsing._plain(source) | string %}
    {% do return('what it reads has been rebuilt') if read and collapsing._is_rebuilt_since(read, of_source) %}
    {{ return(collapsing._why_other_session(built_from, session)) }}
{% endmacro %}


{# Returns why a projection gives other rows in this session than in that which it was built in, or none. #}
{% macro _why_other_session(built_from, session) %}
    {% set built_in, on = built_from.session or {}, {true: 'on', false: 'off'} %}
    {% do return("its SQL depends on the session's time zone, which was " ~ built_in.zone ~ ' and is ' ~ session.zone)
        if 'zone' in built_in and built_in.zone != session.zone %}
    {% do return('its SQL depends on ANSI mode, which was ' ~ on[built_in.ansi] ~ ' and is ' ~ on[session.ansi])
        if 'ansi' in built_in and built_in.ansi != session.ansi %}
    {{ return(none) }}
{% endmacro %}


{#
    Raises an error where SQL of the settings is not a function of a row's own columns, or reads one that its cancel row has another value
    of: a row and its cancel row would fall into two groups; and where rows cannot be grouped by a value of it. Returns what the SQL depends
    on of the session, {zone, ansi}, each only where it does: any SQL but a plain column may give something else in ANSI mode.
#}
{% macro _check_projection_sql(source, settings, source_projection) %}
    {% set ledger = none if source_projection else collapsing._ledger_settings(collapsing._model_of(source)) %}
    {% set described = collapsing._describe(collapsing._plain(source)) %}
    {% do collapsing._check_read_by_its_rules(described, ledger) if ledger %}
    {% set columns, expressions, depends_on = [], [], [] %}
    {% for column in described.columns if not column.name.startswith('ledger_') %}
        {% do columns.append(column) %}
    {% endfor %}
    {% for name, sql in settings.group_by.items() %}
        {% do expressions.append(['group_by.' ~ name, sql, sql, none]) %}
    {% endfor %}
    {% for measure in collapsing._aggregates(settings.measures) if not source_projection %}
        {% do expressions.append(['measures.' ~ measure.name, measure.argument, measure.aggregate, measure.function]) %}
    {% endfor %}
    {% set names = columns | map(attribute='name') | list %}
    {% set rows = collapsing._two_rows('ledger_one', columns, 'ledger_other', [{'name': 'ledger_other', 'dtype': 'int'}]) %}
    {% for setting, sql, given, function in expressions %}
        {% set is_plain = sql.strip('`') in names + (['*'] if function else []) %}
        {% set condition = sql.strip('`') ~ '#0' if is_plain
            else collapsing._check_row_sql(model.name, setting, sql, given, rows) %}
        {% set is_column = sql.strip('`') | lower in names | map('lower') | list %}
        {% for column in columns if source_projection and not is_column and collapsing._has_collation(column.dtype)
            and collapsing._reads_column(condition, column.name) %}
            {{ collapsing._raise(
                model.name, "setting '" ~ setting ~ "' computes with the column '" ~ column.name ~ "' of " ~ source_projection.name ~ ', which is '
                ~ column.dtype ~ ': a group has texts there that are equal and read differently, and shows one of them. Group by the column itself; given: ' ~ given
            ) }}
        {% endfor %}
        {#- count(column) takes a row and its cancel row alike; count_if(condition) may not -#}
        {% set is_counted = function == 'count' and is_plain %}
        {% do collapsing._check_unlike(setting, given, condition, ledger) if ledger and ledger.is_signed and not is_counted %}
        {% do collapsing._warn_of_times_of_day(setting, given, condition, columns) %}
        {% do depends_on.append('ansi') if not is_plain %}
        {% do depends_on.append('zone') if not is_plain and collapsing._depends_on_zone(condition, sql, columns) %}
    {% endfor %}
    {% set types = collapsing._types_of_sql(settings.group_by.values(), source) if settings.group_by else [] %}
    {% for (name, sql), type in zip(settings.group_by.items(), types) %}
        {{ collapsing._raise_setting(
            model.name, 'group_by.' ~ name, 'SQL of a type that compares and orders (no map or variant)', sql ~ ', which is ' ~ type
        ) if not collapsing._is_comparable(type) }}
    {% endfor %}
    {{ return(dict(collapsing._session_settings().items() | selectattr(0, 'in', depends_on)) if depends_on else {}) }}
{% endmacro %}


{# Warns about SQL that makes timestamps of text: of a time of day alone Spark makes one of the day on which it is asked. #}
{% macro _warn_of_times_of_day(setting, given, condition, columns) %}
    {% for column in columns if collapsing._is_text_type(column.dtype) %}
        {% set read = modules.re.escape(column.name) ~ '#\\d+' %}
        {% do collapsing._warn(
            model.name, "setting '" ~ setting ~ "' makes a timestamp of the text '" ~ column.name ~ "': one such as 08:15 would be of today, and tomorrow"
            ~ ' its cancel row would be of another day. Make the timestamp in the stage, or be sure that each text has a date; given: ' ~ given
        ) if modules.re.search('(?i)cast\\(' ~ read ~ ' as timestamp\\)|timestamp(_ltz)?\\(' ~ read ~ ', None,', condition) %}
    {% endfor %}
{% endmacro %}


{#
    Raises an error where SQL reads the sign of rows that carry their sign, in which a cancel row differs from its state row, and warns where
    it reads what orders the rows of a block, in which it may. `condition` is the SQL as Spark has analysed it, `settings` are the ledger's.
#}
{% macro _check_unlike(setting, given, condition, settings) %}
    {% for name in [settings.sign] + settings.order_by if name not in settings.key + settings.version
        and collapsing._reads_column(condition, name) %}
        {% set reads = "setting '" ~ setting ~ "' reads the column '" ~ name ~ "' of rows that carry their sign" %}
        {% do collapsing._raise(
            model.name, reads ~ ': a cancel row has another sign than the state row that it takes back; given: ' ~ given
        ) if name == settings.sign %}
        {% do collapsing._warn(
            model.name, reads ~ ': the sums are right only if each cancel row repeats the ' ~ name
            ~ ' of the state row that it takes back (the test equals_recompute tells)'
        ) %}
    {% endfor %}
{% endmacro %}


{# Warns about views over this model that the command does not build: their SQL was made for its old columns and settings. #}
{% macro _warn_of_views() %}
    {% set views = [] %}
    {% for node in graph.nodes.values() if model.unique_id in node.depends_on.nodes and node.resource_type == 'model'
        and node.config.materialized == 'view' and node.unique_id not in selected_resources %}
        {% do views.append(node.name) %}
    {% endfor %}
    {% do collapsing._warn(
        model.name, "its columns or settings have changed: run the views that read it again: " ~ views | join(', ')
    ) if views %}
{% endmacro %}


{# Returns the relation of the one ledger or projection that a projection reads. #}
{% macro _source_relation(node) %}
    {% set sources = collapsing._sources_of(node) %}
    {% set read = node.depends_on.nodes | map('replace', 'model.', '') | join(', ') %}
    {{ collapsing._raise(
        node.name, 'a projection reads exactly one ledger (a model whose settings say how its rows collapse) or one projection, through ref(); '
        ~ ('it reads none' if not sources else 'it reads several') ~ (': ' ~ read if read)
    ) if sources | length != 1 }}
    {{ return(ref(sources[0].package_name, sources[0].name, version=sources[0].version)) }}
{% endmacro %}


{#
    Returns a hash of what a projection is built from: its settings, the models that it reads and, over a source projection, the build of that
    one. Batch numbers cannot tell two builds apart: a rebuilt source projection ends with the ledger's last batch, and may have ended with it
    before. Raise `layout` when the same settings come to store other columns.
#}
{% macro _signature(settings, source, source_projection) %}
    {#- with --defer that of another environment -#}
    {% set table = load_relation(collapsing._plain(source)) if source_projection else none %}
    {% set build = collapsing._property_in(collapsing._describe(table), 'collapsing.projection') if table else none %}
    {% do collapsing._check_built_as_set(collapsing._model_of(source), collapsing._plain(source), build) if build %}
    {#- without what is shown of it alone -#}
    {% do build.pop('shown', none) if build %}
    {{ return(local_md5(tojson({
        'layout': 4, 'settings': collapsing._settings_stored(settings), 'reads': model.depends_on.nodes, 'source_builds': [build] if source_projection else []
    }))) }}
{% endmacro %}


{#
    Raises an error where the table of a projection was built by other settings than its model has now: its columns would be misread. `built`
    is the table's property.
#}
{% macro _check_built_as_set(node, table, built) %}
    {% set stored = collapsing._settings_stored(collapsing._projection_settings(node)) %}
    {#- the SQL that these two show may be that of the projection's next run, and --empty leaves a projection as it is -#}
    {{ collapsing._raise(
        node.name, 'its table ' ~ table ~ ' was built with a different group_by or different measures from those that the'
        ~ ' model has now: run it first'
    ) if built.get('settings', stored) != stored and flags.WHICH not in ['compile', 'generate'] and not flags.EMPTY }}
{% endmacro %}


{# Returns a hash of what a projection's partials are made by: its settings without quotients, for which nothing is stored. #}
{% macro _settings_stored(settings) %}
    {{ return(local_md5(tojson(dict(settings, measures=collapsing._aggregates(settings.measures))))) }}
{% endmacro %}
