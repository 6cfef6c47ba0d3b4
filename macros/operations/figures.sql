{#
    The figures of status. What the manifest knows is not counted again: of the rows of a ledger only those of its base are read, two columns
    of them.
#}


{# Returns the figures of a ledger, {name: value}, NULL if unknown; with `skip_unbuilt` a missing table is a `state`, no error. #}
{% macro _ledger_figures(node, skip_unbuilt) %}
    {% set settings = collapsing._ledger_settings(node) %}
    {% set engine = settings.engine ~ ', input: ' ~ settings.input %}
    {% set about = {'model': collapsing._name_to_ask(node), 'kind': 'ledger', 'engine': engine} %}
    {% if skip_unbuilt and collapsing._relation_if_any(node) is none %}
        {% set relation = api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias) %}
        {% do collapsing._check_absent(node.name, relation) if collapsing._has_schema(relation) %}
        {{ return(dict(about, state='not built')) }}
    {% endif %}
    {% set ledger = collapsing._built_relation(node) %}
    {% set batches = collapsing._batches_of(ledger) %}
    {% set told = collapsing._manifest_figures(ledger, batches) %}
    {% set base = ', a base up to ' ~ batches.base if batches and batches.base else '' %}
    {% set readers = collapsing._lags_of_readers(node, ledger, batches, told.counting) %}
    {% set figures = dict(
        about, state='built', batches=(batches.first ~ ' to ' ~ batches.last) ~ base if batches else 'none',
        last_batch=batches.last if batches else none, finished_at=told.finished_at, age_minutes=told.age_minutes
    ) %}
    {% set figures = dict(figures, **collapsing._unread_figures(node, ledger, settings, batches)) %}
    {% set figures = dict(figures, **collapsing._row_figures(ledger, settings, batches, told)) %}
    {% set figures = dict(figures, **collapsing._reject_figures(ledger, batches)) %}
    {{ return(dict(
        figures, last_ties=told.ties, lag_batches=readers | map(attribute='lag_batches') | max if readers else none, readers=readers
    )) }}
{% endmacro %}


{#
    Returns what the manifest tells of a ledger: `finished_at`, `age_minutes` and, if decisions were counted, `ties` of its newest batch;
    `appended`, {batch: [states, cancels, tombstones]} of the batches after the base; `counting`, those of them that projections read.
#}
{% macro _manifest_figures(ledger, batches) %}
    {% set told = {'finished_at': none, 'age_minutes': none, 'ties': none, 'appended': {}, 'counting': []} %}
    {% set manifest = load_relation(collapsing._beside(ledger, 'manifest')) %}
    {% if manifest is not none and batches %}
        {% set row = collapsing._rows_of(
            'select cast(max(planned_at) as string), (unix_micros(now()) - unix_micros(max(planned_at))) / 60000000D, '
            ~ 'to_json(collect_list(array(planned_in, states, cancels, tombstones)) filter (where planned_in > ' ~ batches.base
            ~ ")), max_by(if(size(decisions) > 0, coalesce(try_element_at(decisions, 'tie'), 0L), null), planned_in)"
            ~ ' from ' ~ manifest ~ ' where block is null and ' ~ collapsing._sql_is_committed(batches)
        )[0] %}
        {% do told.update({
            'finished_at': row[0], 'age_minutes': row[1] | float | round(1), 'ties': row[3]
        }) if row[0] is not none %}
        {% for batch in fromjson(row[2]) %}
            {% do told.appended.update({batch[0]: batch[1:]}) %}
        {% endfor %}
    {% endif %}
    {% for number in (batches.later if batches else []) if number not in told.appended or told.appended[number][:2] | sum %}
        {% do told.counting.append(number) %}
    {% endfor %}
    {{ return(told) }}
{% endmacro %}


{#
    Returns {unread_blocks, unread_rows}: what the next run would fold; NULL without `block`, or if the model reads several
    relations.
#}
{% macro _unread_figures(node, ledger, settings, batches) %}
    {% set stage, unread = collapsing._only_stage_of(node), {'unread_blocks': none, 'unread_rows': none} %}
    {% if not stage or not settings.block %}{{ return(unread) }}{% endif %}
    {% set columns = collapsing._stage_columns('select * from ' ~ stage, settings) %}
    {% set folded = collapsing._manifest_of(ledger, batches, with_blocks=true).folded %}
    {% set row = collapsing._rows_of(
        'select count(distinct ' ~ collapsing._token(settings, columns) ~ '), count(*) from ' ~ stage
        ~ ' where ' ~ collapsing._sql_is_unread(settings, columns, folded)
    )[0] %}
    {{ return({'unread_blocks': row[0], 'unread_rows': row[1]}) }}
{% endmacro %}


{#
    Returns {rows, live, dead, dead_share, tombstones} of a ledger. The rows of its base are counted, and of batches that the manifest does not know;
    `live` is NULL of an engine whose live rows only a scan can tell.
#}
{% macro _row_figures(ledger, settings, batches, told) %}
    {% set unknown = (batches.later if batches else []) | reject('in', told.appended) | list %}
    {% do unknown.append(-batches.base) if batches and batches.base %}
    {% set counts = [] %}
    {% for number in (batches.later if batches else []) if number in told.appended %}
        {% do counts.append(told.appended[number]) %}
    {% endfor %}
    {% set of_unknown = collapsing._rows_of(
        'select count_if(ledger_sign = 1), count_if(ledger_sign = -1), count_if(ledger_sign = 0 and '
        ~ adapter.quote(settings.key[0]) ~ ' is not null), count_if(ledger_sign = -1 and ledger_batch < 0) from ' ~ ledger
        ~ ' where ledger_batch in (' ~ unknown | join(', ') ~ ')'
    )[0] if unknown else [0, 0, 0, 0] %}
    {% do counts.append(of_unknown) %}
    {% set states, cancels = counts | map(attribute='0') | sum, counts | map(attribute='1') | sum %}
    {% set tombstones = counts | map(attribute='2') | sum %}
    {% set rows, engine = states + cancels + tombstones, collapsing._engine(settings) %}
    {#- what an optimize has left is not dead: signed rows leave cancel rows too -#}
    {% set dead = [2 * (cancels - of_unknown[3]), rows - tombstones] | min %}
    {% set live = rows - tombstones - dead - (0 if engine.shows_cancel_rows else of_unknown[3]) %}
    {% if not engine.adds_up %}
        {% set live, dead = none, none %}
    {% endif %}
    {{ return({
        'rows': rows, 'live': live, 'dead': dead, 'tombstones': tombstones,
        'dead_share': (dead / rows) | round(3) if dead else 0 if dead == 0 else none
    }) }}
{% endmacro %}


{# Returns {rejects, last_rejects}: how many rows were rejected, and how many of them by the last batch. #}
{% macro _reject_figures(ledger, batches) %}
    {% set rejects = load_relation(collapsing._beside(ledger, 'rejects')) %}
    {% if rejects is none or not batches or load_relation(collapsing._beside(ledger, 'manifest')) is none %}
        {{ return({'rejects': 0, 'last_rejects': 0}) }}
    {% endif %}
    {% set row = collapsing._rows_of(
        'select count(*), count_if(ledger_batch = ' ~ batches.last ~ ') from ' ~ rejects ~ ' where '
        ~ collapsing._sql_is_committed_reject(ledger)
    )[0] %}
    {{ return({'rejects': row[0], 'last_rejects': row[1]}) }}
{% endmacro %}


{#
    Returns how far each projection of a ledger has read, [{name, batch, lag_batches}]. `counting` are the batches that have something to read:
    of others a projection keeps no rows.
#}
{% macro _lags_of_readers(node, ledger, batches, counting) %}
    {% set lags = [] %}
    {% for reader in collapsing._readers_of(node) %}
        {% set projection = collapsing._relation_if_any(reader) %}
        {% set read = collapsing._batches_of(projection) if projection is not none else none %}
        {% set upto = read.last if read else 0 %}
        {#- what has read an earlier table is rebuilt; what has not read all of the base has one batch more to read -#}
        {% set is_stale = upto and (not batches or upto > batches.last or upto < batches.first) %}
        {% set is_behind_base = batches and 0 < batches.base and upto < batches.base %}
        {% set base = 1 if is_stale or (is_behind_base and collapsing._has_more_in_base(ledger, batches, upto)) else 0 %}
        {% set unread = counting | select('gt', upto) | list | length %}
        {% do lags.append({'name': collapsing._name_to_ask(reader), 'batch': upto, 'lag_batches': base + unread}) %}
    {% endfor %}
    {{ return(lags | sort(attribute='name')) }}
{% endmacro %}


{#
    Returns whether a ledger's base has something for a projection that has read the batches up to `upto`: the manifest tells; if it has read none,
    the rows do.
#}
{% macro _has_more_in_base(ledger, batches, upto) %}
    {% set manifest = load_relation(collapsing._beside(ledger, 'manifest')) %}
    {% if upto and manifest is none %}{{ return(true) }}{% endif %}
    {{ return(collapsing._rows_of(
        'select 1 from ' ~ (manifest ~ ' where states + cancels > 0 and planned_in > ' ~ upto if upto else ledger ~ ' where ledger_sign <> 0')
        ~ ' and ledger_batch = ' ~ -batches.base ~ ' limit 1'
    ) | length > 0) }}
{% endmacro %}


{# Returns the figures of a projection. #}
{% macro _projection_figures(node) %}
    {% set projection = collapsing._built_relation(node) %}
    {% set settings = collapsing._projection_settings(node) %}
    {% set rows = collapsing._visible_rows(projection) %}
    {% set final = collapsing._final_of_projection(projection, settings, collapsing._types_of(projection), rows) %}
    {% set source = collapsing._sources_of(node) | first %}
    {% set ledger = collapsing._built_relation(source) %}
    {% set batches = collapsing._batches_of(ledger) %}
    {% set lags = collapsing._lags_of_readers(source, ledger, batches, collapsing._manifest_figures(ledger, batches).counting) %}
    {% set lag = lags | selectattr('name', 'equalto', collapsing._name_to_ask(node)) | first %}
    {{ return({
        'model': collapsing._name_to_ask(node), 'kind': 'projection', 'state': 'built',
        'rows': collapsing._rows_of('select count(*) from ' ~ rows)[0][0],
        'groups': collapsing._rows_of('select count(*) from ' ~ final)[0][0],
        'ledger': collapsing._name_to_ask(source), 'last_batch': lag.batch, 'lag_batches': lag.lag_batches,
        'has_read': collapsing._lag_in_words(lag, batches.last if batches else 0).removeprefix('has read ')
    }) }}
{% endmacro %}
