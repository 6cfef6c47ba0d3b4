{#
    Returns what a run of a projection does, {act}, and why, {says}, where that is not what most runs do. `own` and `ledger` are
    handles or none. Its own table was listed first: it may not seem to have read more than its ledger has.

    nothing  there is nothing to commit
    create   the table is created, in the place of the one that is there, and then filled as for `whole`
    whole    the sums of all that is visible in the ledger become one compacted batch
    merge    what the projection has and the sums of new batches become one compacted batch
    append   the sums of new batches become one batch
#}
{% macro _projection_act(own, ledger, settings) %}
    {% if ledger is not none %}{% do collapsing._check_ours(ledger.relation.identifier, ledger) %}{% endif %}
    {% if own is none %}{{ return({'act': 'create'}) }}{% endif %}
    {% if flags.EMPTY or ledger is none or ledger.compacted is none %}{{ return({'act': 'nothing'}) }}{% endif %}
    {% set anew, behind = ': rebuilding it from all of ' ~ ledger.relation.identifier, ledger.last - own.last %}
    {% set because = collapsing._why_created_again(own, ledger, settings) %}
    {% if because %}
        {#- an unfinished table may have been filled by another run since it was listed -#}
        {% set is_filled = own.compacted is none and collapsing._list(own).compacted is not none %}
        {{ return({'act': 'nothing'} if is_filled else {'act': 'create', 'says': because ~ anew}) }}
    {% endif %}
    {% if own.compacted is none %}{{ return({'act': 'whole'}) }}{% endif %}
    {% if behind == 0 %}{{ return({'act': 'nothing'}) }}{% endif %}
    {% if should_full_refresh() %}{{ return({'act': 'whole', 'says': 'a full refresh' ~ anew}) }}{% endif %}
    {% if ledger.compacted > own.last %}
        {{ return({'act': 'whole', 'says': 'its ledger has compacted batches that it has not read' ~ anew}) }}
    {% endif %}
    {% if behind > 64 %}{{ return({'act': 'whole', 'says': 'it is ' ~ behind ~ ' batches behind' ~ anew}) }}{% endif %}
    {% if own.last - own.compacted > 16 %}
        {{ return({'act': 'merge', 'says': 'merging the partial sums of the batches up to ' ~ ledger.last}) }}
    {% endif %}
    {{ return({'act': 'append'}) }}
{% endmacro %}


{# Returns why the table of a projection is created again, or none where it goes on; arguments as in _projection_act. #}
{% macro _why_created_again(own, ledger, settings) %}
    {% if own.identity is not none and collapsing._property(own, 'rules') is none %}
        {% do collapsing._raise(
            model.name, 'the table ' ~ own.relation ~ ' is that of a ledger, whose rows only its stage could give again: drop it first, or give'
            ~ ' the model another name'
        ) %}
    {% endif %}
    {% if should_full_refresh() %}
        {#- where there is a number for it, and the session's time zone is the same, readers keep the table -#}
        {% set zone = collapsing._property(own, 'zone') %}
        {% if own.identity is none or ledger.last == own.last
            or (zone and collapsing._rows_of('select current_timezone()')[0][0] != zone) %}
            {{ return('a full refresh') }}
        {% endif %}
    {% endif %}
    {% do collapsing._check_ours(model.name, own) %}
    {% if collapsing._property(own, 'rules') != collapsing._projection_rules(model, settings) %}
        {{ return('its group_by, its measures or its ledger are not those that it was built from') }}
    {% endif %}
    {% if collapsing._property(own, 'ledger') != ledger.identity %}{{ return('its ledger was created again') }}{% endif %}
    {% if ledger.last < own.last %}
        {{ return('its ledger ends at batch ' ~ ledger.last ~ ', and it has read batch ' ~ own.last) }}
    {% endif %}
    {% if own.compacted is none and ledger.last == own.last %}{{ return('the run that created it did not finish') }}{% endif %}
    {{ return(none) }}
{% endmacro %}


{# Creates the table of a projection empty, once SQL of its settings is checked against the ledger; returns its handle. #}
{% macro _create_projection(projection, own, ledger, settings) %}
    {% set of_ledger = collapsing._ledger_settings(collapsing._sources_of(model)[0]) %}
    {% if ledger is none %}
        {% do collapsing._raise(model.name, "its ledger '" ~ of_ledger.model ~ "' has not been built: run it first") %}
    {% endif %}
    {% if of_ledger.is_signed %}{% do collapsing._check_reads_no_sign(settings, of_ledger.sign) %}{% endif %}
    {% do collapsing._check_groups(ledger, settings) %}
    {% set types, rules = collapsing._argument_types(ledger, settings), collapsing._projection_rules(model, settings) %}
    {% set zone = collapsing._rows_of('select current_timezone()')[0][0] if collapsing._computes(settings) else '' %}
    {% set summed = collapsing._columns_of_query(collapsing._project(ledger.relation, settings, types, 'false')) %}
    {% set columns = collapsing._stored_columns(summed + [{'name': 'ledger_batch', 'dtype': 'int'}], projection) %}
    {% do collapsing._check_contract(columns) %}
    {% if own is not none and (own.columns != columns or collapsing._property(own, 'rules') != rules) %}
        {% do collapsing._warn_of_views() %}
    {% endif %}
    {{ return(collapsing._create(projection, columns, {
        'collapsing.ledger': ledger.identity, 'collapsing.rules': rules, 'collapsing.types': types | join('|'),
        'collapsing.zone': zone
    }, own)) }}
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
    {% if sources | length != 1 or collapsing._is_projection(sources[0]) %}
        {% do collapsing._raise(
            node.name, 'a projection reads exactly one ledger (a model whose settings say how its rows collapse), through ref(): sums of'
            ~ ' sums are a view over final of a projection. It reads '
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
    {% set relation = ref(ledger.package_name, ledger.name, version=ledger.version) %}
    {% if collapsing._file_format(this) != collapsing._file_format(relation) %}
        {% do collapsing._raise(
            node.name, 'a projection has the format of its ledger: its file_format is ' ~ collapsing._file_format(this)
            ~ ", and that of '" ~ ledger.name ~ "' is " ~ collapsing._file_format(relation)
        ) %}
    {% endif %}
    {{ return(relation) }}
{% endmacro %}


{# Returns a hash of what a projection is built from. Raise `layout` when the same settings come to store other columns. #}
{% macro _projection_rules(node, settings) %}
    {% set parts = ['layout 6', 'ledger ' ~ collapsing._sources_of(node) | map(attribute='unique_id') | join(' ')] %}
    {% for name, sql in settings.group_by.items() %}
        {% do parts.append('group ' ~ name ~ ': ' ~ sql) %}
    {% endfor %}
    {% for measure in settings.measures %}
        {% do parts.append('measure ' ~ measure.name ~ ': ' ~ measure.aggregate) %}
    {% endfor %}
    {{ return(local_md5(parts | join('\n'))) }}
{% endmacro %}


{# Returns the last batch of a ledger, a handle, that `reader`, a projection's node, has read; none where it has to be rebuilt. #}
{% macro _valid_watermark(reader, ledger) %}
    {% set own = collapsing._table_of(reader) %}
    {% set is_of_ledger = own is not none and collapsing._property(own, 'ledger') == ledger.identity %}
    {% if not is_of_ledger or own.compacted is none or ledger.compacted is none %}{{ return(none) }}{% endif %}
    {{ return(own.last if ledger.compacted <= own.last and own.last <= ledger.last else none) }}
{% endmacro %}
