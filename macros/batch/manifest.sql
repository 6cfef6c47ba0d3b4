{#
    <ledger>__manifest says which blocks each batch of a ledger folds: a row for each block, and one without a block for the batch itself.
    A manifest is written before its batch and counts only once the batch is committed.
        block       the token, as _token has it; NULL in the row of the batch
        staged      how many rows the block, or the batch, had when it was planned
        planned_in  the batch
        build       which table of this name it was written for, as that one's property `collapsing.build` has it
        run_id      dbt's invocation_id
        planned_at  when the manifest was written
    and in the row of the batch alone
        blocks, decisions, states, cancels, tombstones, seconds   as in <ledger>__history
        undoes      of a batch that undoes an earlier one: that one, whose blocks are unread again
    Partitions are batches, as in the ledger: those that its base stands for are one partition here too.
#}


{#
    Returns, of a ledger that has the batches `batches`,
        undone         pairs [undo, the batch that it undoes], newest first
        voided         the numbers of both of each pair: no lookup may see their rows
        folded         `with_blocks`: tokens of the blocks that are folded, as _carried_text has them
        last, least, builds   the last batch that it tells of, the number of its oldest rows, and which tables it was written for, as
                       _check_manifest takes them
    One row of JSON, by one task: dbt guesses types from each cell of a result, and there may be ten thousand blocks.
#}
{% macro _manifest_of(ledger, batches, with_blocks=false) %}
    {% set manifest = collapsing._manifest_table(ledger) if batches else none %}
    {% if manifest is none %}
        {{ return({'undone': [], 'voided': [], 'folded': [], 'last': 0, 'least': 0, 'builds': []}) }}
    {% endif %}
    {% set sql %}
        select
            to_json(collect_list(struct(planned_in, undoes)) filter (where undoes is not null)) as undos,
            coalesce(max(planned_in), 0) as last,
            to_json(collect_set(build)) as builds,
            coalesce(min(ledger_batch), 0) as least
            {%- if with_blocks %},
            to_json(
                collect_list(struct({{ collapsing._carried_text('block') }} as block, planned_in)) filter (where block is not null)
            ) as blocks
            {%- endif %}
        from (select /*+ coalesce(1) */ * from {{ manifest }} where {{ collapsing._sql_is_committed(batches) }})
    {% endset %}
    {% set row, undone = collapsing._rows_of(sql)[0], [] %}
    {% for undo in fromjson(row[0]) | sort(attribute='planned_in', reverse=true) %}
        {% do undone.append([undo.planned_in, undo.undoes]) %}
    {% endfor %}
    {{ return({
        'undone': undone, 'voided': undone | sum(start=[]), 'last': row[1], 'least': row[3], 'builds': fromjson(row[2]),
        'folded': fromjson(row[4]) | rejectattr('planned_in', 'in', undone | map('last') | list) | map(attribute='block') | list
            if with_blocks else []
    }) }}
{% endmacro %}


{#
    Returns the manifest of a ledger that has batches, or none. Raises an error where another run has created it since dbt listed the
    schema.
#}
{% macro _manifest_table(ledger) %}
    {% do collapsing._check_absent(ledger.identifier, collapsing._beside(ledger, 'manifest')) %}
    {{ return(load_relation(collapsing._beside(ledger, 'manifest'))) }}
{% endmacro %}


{# Raises an error where _wrong_manifest finds one. #}
{% macro _check_manifest(ledger, settings, batches, manifest, build) %}
    {% set wrong = collapsing._wrong_manifest(ledger, settings, batches, manifest, build) %}
    {% if wrong %}{% do collapsing._raise(settings.model, wrong) %}{% endif %}
{% endmacro %}


{#
    Returns in words what is wrong with a ledger's manifest, or none: it has folded blocks and its manifest is gone, so that every block
    would be folded again. A clone of a ledger comes without it, for dbt clones models alone. Or what is there is of another table, or of
    another state of it: one that was there before the clone, or a backup. Or somebody has made that table, or the one of rejects, so that the
    next batch would overwrite all of it. `manifest` as _manifest_of returns it, `build` as the table's property `collapsing.build` has it, or
    none.
#}
{% macro _wrong_manifest(ledger, settings, batches, manifest, build) %}
    {% for beside in [collapsing._beside(ledger, 'manifest'), collapsing._beside(ledger, 'rejects')] %}
        {% if not collapsing._is_overwritable(beside) %}{{ return(
            'its table ' ~ beside ~ ' was created without the option partitionOverwriteMode dynamic, and the next batch would'
            ~ ' overwrite all of it: create it with that option, or like the one that it was copied from, and insert its rows again'
        ) }}{% endif %}
    {% endfor %}
    {% set beside = collapsing._beside(ledger, 'manifest') %}
    {% set is_there = batches and collapsing._manifest_table(ledger) is not none %}
    {% set remedy = '. Copy it from where the ledger came from, or rebuild the ledger with --full-refresh' %}
    {#- without blocks it tells only of undos that matters -#}
    {% if is_there and (settings.block or manifest.undone) and (
        manifest.last != batches.last or (build is not none and build not in manifest.builds)
        or (settings.block and manifest.least != (-batches.base if batches.base else batches.first))
    ) %}
        {{ return(
            'its table ' ~ beside ~ ' was not written for the rows that ' ~ ledger ~ ' has now: blocks would be lost, or folded twice'
            ~ remedy ~ ' if the stage still holds every block'
        ) }}
    {% elif settings.block and batches and not is_there
        and collapsing._rows_of('select 1 from ' ~ ledger ~ ' where ledger_block is not null limit 1') %}
        {{ return(
            'its table ' ~ beside ~ ', which lists the folded blocks, is missing: every block would be folded again'
            ~ remedy ~ ' if the stage still holds every block'
        ) }}
    {% elif batches and not is_there and not settings.block and collapsing._has_undos(ledger, settings) %}
        {{ return(
            'its table ' ~ beside ~ ', which lists the batches that were undone, is missing: what they had brought would be kept out as'
            ~ ' known' ~ remedy
        ) }}
    {% endif %}
    {{ return(none) }}
{% endmacro %}


{#
    Returns whether the rows of a ledger show that a batch was undone, for engines whose runs must not see such rows: of a key, an
    undo alone appends a cancel row without a state row or a tombstone beside it.
#}
{% macro _has_undos(ledger, settings) %}
    {{ return(collapsing._rows_of(
        'select 1 from ' ~ ledger ~ ' group by ' ~ collapsing._column_list(settings.key) ~ ', ledger_batch having max(ledger_sign) = -1 limit 1'
    ) | length > 0) }}
{% endmacro %}


{# Raises an error where an operation must not write to a table that it has described; `settings` are a ledger's, or none. #}
{% macro _check_operable(model_name, relation, settings, described) %}
    {% if not collapsing._is_appendable(relation, described) %}{% do collapsing._raise_foreign(relation) %}{% endif %}
    {% if settings %}
        {% do collapsing._check_no_changed_rules(model_name, collapsing._changed_rules(described, settings)) %}
        {% set wrong = collapsing._wrong_manifest_of(relation, settings, described) %}
        {% if wrong %}{% do collapsing._raise(model_name, wrong) %}{% endif %}
    {% endif %}
{% endmacro %}


{# Returns what _wrong_manifest does, for an operation that has described the ledger. #}
{% macro _wrong_manifest_of(ledger, settings, described) %}
    {% set batches = collapsing._batches_of(ledger) %}
    {{ return(collapsing._wrong_manifest(
        ledger, settings, batches, collapsing._manifest_of(ledger, batches), collapsing._property_in(described, 'collapsing.build')
    )) }}
{% endmacro %}


{# Returns SQL that is true for the rows of the manifest about folded blocks, but for those of the batches `besides`. #}
{% macro _sql_is_folded(batches, besides=[]) %}
    {{ return(
        collapsing._sql_is_committed(batches) ~ ' and block is not null'
        ~ (' and planned_in not in (' ~ besides | join(', ') ~ ')' if besides)
    ) }}
{% endmacro %}


{#
    Writes which blocks a batch folds, what becomes of their rows and what it appends; `table` as _plan_table returns it, and `begun_at` when the
    model began, in UTC. Without block tokens nothing is known of what a batch takes, for every run reads the whole stage.
#}
{% macro _write_manifest(ledger, settings, table, batch, begun_at) %}
    {% set blocks, decisions = ['(null, ' ~ (batch.rows ~ 'L' if settings.block else 'null') ~ ')'], [] %}
    {% for block in batch.blocks %}
        {% do blocks.append('(' ~ collapsing._carried_literals([block.token]) ~ ', ' ~ block.rows ~ 'L)') %}
    {% endfor %}
    {% for decision, rows in batch.decisions | dictsort %}
        {% do decisions.append("'" ~ decision ~ "', " ~ rows ~ 'L') %}
    {% endfor %}
    {% do collapsing._write_manifest_rows(
        ledger, dict(batch, build=table.build), -batch.number if table.rebuild else batch.number, begun_at, blocks, {
            'blocks': batch.blocks | length if settings.block else 'null',
            'decisions': 'map(' ~ decisions | join(', ') ~ ')' if settings.block else 'null'
        }
    ) %}
{% endmacro %}


{#
    Writes the manifest of a batch. One that a killed run wrote under its number is overwritten, never added to. The manifest of a
    rebuilt ledger keeps the history of the batches before it, of which nothing else counts any more. Creates the view
    <ledger>__history where there is none yet.

    batch      {number, build, states, cancels, tombstones}
    stored_as  the number that the rows of the batch have in the ledger
    blocks     SQL for rows of token and number of rows; of the batch itself the token is NULL
    of_batch   {column: SQL} of what only the batch's own row has
#}
{% macro _write_manifest_rows(ledger, batch, stored_as, begun_at, blocks, of_batch) %}
    {% set manifest = collapsing._beside(ledger, 'manifest') %}
    {% do collapsing._create_beside(
        manifest, ledger, 'block string, staged bigint, planned_in int, blocks bigint, decisions map<string, bigint>, states bigint, cancels bigint, '
        ~ 'tombstones bigint, undoes int, seconds double, build string, run_id string, planned_at timestamp_ltz, ledger_batch int'
    ) %}
    {% set view = collapsing._beside(ledger, 'history') %}
    {% if load_relation(view) is none and collapsing._takes_views(ledger) %}
        {% do collapsing._execute('create or replace view ' ~ view ~ ' as\nselect *\nfrom ' ~ collapsing._history_rows(ledger)) %}
        {% do collapsing._add_to_cache(view.incorporate(type='view')) %}
    {% endif %}
    {% set seconds = (modules.datetime.datetime.utcnow() - begun_at).total_seconds() %}
    {% set of_batch = dict(of_batch, states=batch.states, cancels=batch.cancels, tombstones=batch.tombstones, seconds=seconds) %}
    {% set rows %}
        select /*+ coalesce(1) */
            block,
            cast(staged as bigint) as staged,
            {{ batch.number }} as planned_in,
            {%- for column, dtype in {
                'blocks': 'bigint', 'decisions': 'map<string, bigint>', 'states': 'bigint', 'cancels': 'bigint', 'tombstones': 'bigint',
                'undoes': 'int', 'seconds': 'double'
            }.items() %}
            if(block is null, cast({{ of_batch.get(column, 'null') }} as {{ dtype }}), null) as {{ column }},
            {%- endfor %}
            {{ collapsing._text_literal(batch.build) if batch.build else 'cast(null as string)' }} as build,
            '{{ invocation_id }}' as run_id,
            now() as planned_at
        from values {{ blocks | join(', ') }} as planned (block, staged)
    {% endset %}
    {% if stored_as > 0 %}
        {% do collapsing._execute(collapsing._overwrite_sql(manifest, rows, stored_as, ledger)) %}
    {% else %}
        {% do collapsing._drop_range(manifest, stored_as, stored_as, ledger) %}
        {% set history %}
            select
                block, staged, planned_in, blocks, decisions, states, cancels, tombstones, undoes, seconds, build, run_id, planned_at
            from {{ manifest }}
            where block is null and {{ collapsing._sql_is_committed(collapsing._batches_of(ledger)) }}
        {% endset %}
        {% do collapsing._execute(collapsing._append_sql(
            manifest, 'select *, ' ~ stored_as ~ ' as ledger_batch from (' ~ rows ~ ' union all ' ~ history ~ ')', stored_as, ledger
        )) %}
    {% endif %}
{% endmacro %}


{# Merges the manifests of the batches up to `upto` into one that counts once their base is committed. #}
{% macro _merge_manifests(ledger, batches, upto) %}
    {% set manifest = load_relation(collapsing._beside(ledger, 'manifest')) %}
    {% if manifest is not none %}
        {#- what a killed optimize has left under this number -#}
        {% do collapsing._drop_range(manifest, -upto, -upto, ledger) %}
        {% set names = collapsing._describe(manifest).columns | map(attribute='name') | reject('equalto', 'ledger_batch') %}
        {% do collapsing._execute(collapsing._append_sql(
            manifest,
            'select /*+ coalesce(1) */ ' ~ collapsing._column_list(names) ~ ', ' ~ -upto ~ ' as ledger_batch\nfrom ' ~ manifest
            ~ '\nwhere ' ~ collapsing._sql_is_committed(batches) ~ ' and ledger_batch <= ' ~ upto,
            -upto, ledger
        )) %}
    {% endif %}
{% endmacro %}


{# Returns what can stand behind `from` for the visible rows of a ledger, without batches that were undone and their undos. #}
{% macro _rows_not_undone(ledger) %}
    {% set manifest = collapsing._manifest_of(ledger, collapsing._batches_of(collapsing._plain(ledger))) %}
    {{ return(collapsing._rows_not_in(collapsing._visible_rows(ledger), manifest.voided)) }}
{% endmacro %}


{# Returns what can stand behind `from` for rows without those of some batches. #}
{% macro _rows_not_in(rows, batches) %}
    {{ return('(select * from ' ~ rows ~ ' where ledger_batch not in (' ~ batches | join(', ') ~ '))' if batches else rows) }}
{% endmacro %}


{#
    Returns a subquery of the rows of a ledger's manifest that count, each once. It has no batch number in it, so that it can stay in a view. A
    batch counts if the ledger has a row of it, or its base stands for it: an optimize copies the manifest of those batches to the base's
    partition before it writes the base. Batches of an earlier table of the same name do not count.
#}
{% macro _committed_manifest(ledger) -%}
(
    select manifest.*
    from {{ collapsing._beside(ledger, 'manifest') }} as manifest
    cross join (
        select min(ledger_batch) as least, max(abs(ledger_batch)) as greatest
        from {{ collapsing._plain(ledger) }}
    )
    where ledger_batch = least or (ledger_batch > abs(least) and ledger_batch <= greatest)
)
{%- endmacro %}


{#
    Returns a subquery of the history of a ledger that has a manifest: one row per batch, with the columns in docs/operating.md.
    All of them are known before the batch is committed, so that nothing has to be written after the commit. Without a batch
    number, it reads tables in every query.
#}
{% macro _history_rows(ledger) -%}
(
    select
        blocks, staged as rows_read, decisions, states, cancels, tombstones, undoes, seconds, run_id, planned_at as finished_at,
        planned_in as ledger_batch
    from {{ collapsing._committed_manifest(ledger) | indent(4) }}
    where block is null
)
{%- endmacro %}
