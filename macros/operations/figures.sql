{#
    The figures of status. What the manifest knows is not counted again: of the rows of a ledger only those of its base are read, two columns
    of them. With `scan` the whole ledger is read, for the figures that nothing else gives.
#}


{# Returns the figures of a ledger, {name: value}, NULL if unknown; with `skip_unbuilt` a missing table is a `state`, no error. #}
{% macro _ledger_figures(node, scan, skip_unbuilt) %}
    {% set settings = collapsing._ledger_settings(node) %}
    {% set is_split = collapsing._shard_names(node) %}
    {% set figures = {
        'model': collapsing._name_to_ask(node), 'kind': 'ledger', 'engine': settings.engine ~ (', input: ' ~ settings.input if not settings.join), 'state': 'built'
    } %}
    {% if skip_unbuilt and (is_split or collapsing._relation_if_any(node) is none) %}
        {% do figures.update({'state': 'split into shards, say which: collapsing_shard' if is_split else 'not built'}) %}
        {% set relation = api.Relation.create(node.database, node.schema, node.alias) %}
        {% do collapsing._check_absent(node.name, relation) if not is_split and collapsing._has_schema(relation) %}
        {{ return(figures) }}
    {% endif %}
    {% set ledger = collapsing._built_relation(node) %}
    {% set batches = collapsing._batches_of(ledger) %}
    {% set told = collapsing._manifest_figures(ledger, batches) %}
    {% set base = ', a base up to ' ~ batches.base if batches and batches.base else '' %}
    {% do figures.update({
        'batches': (batches.first ~ ' to ' ~ batches.last) ~ base if batches else 'none',
        'last_batch': batches.last if batches else none, 'finished_at': told.finished_at, 'age_minutes': told.age_minutes
    }) %}
    {% do figures.update(collapsing._unread_figures(node, ledger, settings, batches)) %}
    {% do figures.update(collapsing._row_figures(ledger, settings, batches, told)) %}
    {% do figures.update(collapsing._reject_figures(ledger, batches)) %}
    {% do figures.update({'last_ties': told.ties if settings.count_decisions else none}) %}
    {% set readers = collapsing._lags_of_readers(node, batches, told.counting) %}
    {% do figures.update({
        'lag_batches': readers | map(attribute='lag_batches') | max if readers else none, 'readers': readers,
        'reads': collapsing._lags_to_sources(node) if settings.join else []
    }) %}
    {% do figures.update(collapsing._storage_figures(ledger, batches, scan)) %}
    {{ return(dict(figures, **collapsing._scanned_figures(ledger, settings, figures)) if scan and batches else figures) }}
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
    {% do return(unread) if not stage or not settings.block or settings.join %}
    {% set columns = collapsing._columns_of_query('select * from ' ~ stage) %}
    {% do collapsing._spell(columns, settings.block, {}) %}
    {% do return(unread) if settings.block not in columns | map(attribute='name') %}
    {% set folded = collapsing._manifest_of(ledger, batches, with_blocks=true).folded %}
    {% set row = collapsing._rows_of(
        'select count(distinct ' ~ collapsing._token(settings, columns) ~ '), count(*) from ' ~ collapsing._rows_of_shard(stage, settings)
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
    {% set states, cancels, tombstones = counts | sum(attribute='0'), counts | sum(attribute='1'), counts | sum(attribute='2') %}
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
    {% do return({'rejects': 0, 'last_rejects': 0})
        if rejects is none or not batches or load_relation(collapsing._beside(ledger, 'manifest')) is none %}
    {% set row = collapsing._rows_of(
        'select count(*), count_if(ledger_batch = ' ~ batches.last ~ ') from ' ~ rejects ~ ' where '
        ~ collapsing._sql_is_committed_reject(ledger)
    )[0] %}
    {{ return({'rejects': row[0], 'last_rejects': row[1]}) }}
{% endmacro %}


{#
    Returns how far each projection of a ledger has read, each projection of those, and each joined ledger, [{kind, name, batch, lag_batches}].
    `counting` are the batches that have something to read: of others a projection keeps no rows.
#}
{% macro _lags_of_readers(node, batches, counting) %}
    {% set lags = [] %}
    {% for reader in graph.nodes.values() if collapsing._is_joined(reader) and node.unique_id in reader.depends_on.nodes
        or collapsing._is_projection(reader) and collapsing._ledger_of(reader).unique_id == node.unique_id %}
        {% set upto = collapsing._watermark_of_reader(reader, node) or 0 %}
        {#- what has read an earlier table is built again; what has not read all of the base has one batch more to read -#}
        {% set is_direct = node.unique_id in reader.depends_on.nodes %}
        {% set is_stale = upto and (not batches or upto > batches.last or (upto < batches.first and is_direct)) %}
        {% set is_behind_base = batches and 0 < batches.base and upto < batches.base %}
        {% set base = 1 if is_stale or (is_behind_base and collapsing._has_more_in_base(node, batches, upto)) else 0 %}
        {% set unread = counting | select('gt', upto) | list | length %}
        {% set kind = 'joined ledger' if collapsing._is_joined(reader) else 'projection' %}
        {% do lags.append({'kind': kind, 'name': collapsing._name_to_ask(reader), 'batch': upto, 'lag_batches': base + unread}) %}
    {% endfor %}
    {{ return(lags | sort(attribute='name')) }}
{% endmacro %}


{#
    Returns whether a ledger's base has something for a reader that has read the batches up to `upto`: the manifest tells; if it has read none,
    the rows do.
#}
{% macro _has_more_in_base(node, batches, upto) %}
    {% set ledger = collapsing._built_relation(node) %}
    {% set manifest = load_relation(collapsing._beside(ledger, 'manifest')) %}
    {% do return(true) if upto and manifest is none %}
    {{ return(collapsing._rows_of(
        'select 1 from ' ~ (manifest ~ ' where states + cancels > 0 and planned_in > ' ~ upto if upto else ledger ~ ' where ledger_sign <> 0')
        ~ ' and ledger_batch = ' ~ -batches.base ~ ' limit 1'
    ) | length > 0) }}
{% endmacro %}


{#
    Returns how far a joined ledger has read each ledger that it joins, [{name, last, batch, lag_batches}]; 1 behind one that was built again and
    has fewer batches.
#}
{% macro _lags_to_sources(node) %}
    {% set lags = [] %}
    {% for source in collapsing._sources_of(node) %}
        {#- none where it was read with --defer, and is not here: how far it is behind nobody can tell -#}
        {% set table = collapsing._relation_if_any(source) %}
        {% if table is not none %}
            {% set batches = collapsing._batches_of(table) %}
            {% set last, upto = batches.last if batches else 0, collapsing._watermark_of_reader(node, source) or 0 %}
            {% set lag = last - upto if upto <= last else 1 %}
            {% do lags.append({'name': source.name, 'last': last, 'batch': upto, 'lag_batches': lag}) %}
        {% endif %}
    {% endfor %}
    {{ return(lags) }}
{% endmacro %}


{# Returns what only a scan tells: `findings`, {finding: words}, and of an engine that keeps every row which are live and dead. #}
{% macro _scanned_figures(ledger, settings, figures) %}
    {% set engine, scanned = collapsing._engine(settings), {'findings': none} %}
    {% if engine.keeps_every_row %}
        {% set live = collapsing._rows_of('select count(*) from ' ~ collapsing._final_of_table(ledger, settings))[0][0] %}
        {#- the row of a batch without rows has no key, and is none of the figure `rows` either -#}
        {% set collapsed, key = engine.collapsed(collapsing._visible_rows(ledger), settings), adapter.quote(settings.key[0]) %}
        {% set dead = figures.rows - collapsing._rows_of('select count(' ~ key ~ ') from ' ~ collapsed)[0][0] %}
        {% do scanned.update({
            'live': live, 'dead': dead, 'dead_share': (dead / figures.rows) | round(3) if figures.rows else 0
        }) %}
    {% endif %}
    {% if engine.adds_up %}
        {% set found, described = {}, collapsing._describe(ledger) %}
        {% do collapsing._check_read_by_its_rules(described, settings) %}
        {% set rows = collapsing._rows_of(
            "select finding, count(*), concat_ws('; ', slice(sort_array(collect_list(ledger_key)), 1, 3)) from ("
            ~ collapsing._findings(collapsing._rows_not_undone(ledger), settings, described.columns) ~ ') group by finding order by finding'
        ) %}
        {% for row in rows %}
            {% do found.update({row[0]: row[1] ~ ' keys, for example ' ~ row[2]}) %}
        {% endfor %}
        {% do scanned.update({'findings': found}) %}
    {% endif %}
    {{ return(scanned) }}
{% endmacro %}


{# Returns the figures of a projection. #}
{% macro _projection_figures(node) %}
    {% set projection = collapsing._built_relation(node) %}
    {% set settings = collapsing._projection_settings(node) %}
    {% set rows = collapsing._visible_rows(projection) %}
    {% set final = collapsing._final_of_projection(projection, settings, collapsing._types_of(projection), rows) %}
    {% set ledger = collapsing._ledger_of(node) %}
    {% set batches = collapsing._batches_of(collapsing._built_relation(ledger)) %}
    {% set told = collapsing._manifest_figures(collapsing._built_relation(ledger), batches) %}
    {% set lags = collapsing._lags_of_readers(ledger, batches, told.counting) %}
    {% set lag = lags | selectattr('name', 'equalto', collapsing._name_to_ask(node)) | first %}
    {{ return({
        'model': collapsing._name_to_ask(node), 'kind': 'projection', 'state': 'built',
        'rows': collapsing._rows_of('select count(*) from ' ~ rows)[0][0],
        'groups': collapsing._rows_of('select count(*) from ' ~ final)[0][0],
        'ledger': collapsing._name_to_ask(ledger), 'last_batch': lag.batch, 'lag_batches': lag.lag_batches,
        'has_read': collapsing._lag_in_words(lag, batches.last if batches else 0).removeprefix('has read ')
    }) }}
{% endmacro %}
