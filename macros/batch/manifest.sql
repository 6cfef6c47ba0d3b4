{#
    <ledger>__manifest says what each batch of a ledger takes: a row for each block, and one without a block for the batch itself.
    A manifest is written before its batch and counts only once the batch is committed.
        block       the token, as _token has it; NULL in the row of the batch
        staged      how many rows the block, or the batch, had when it was planned
        planned_in  the batch
        decisions   of the batch: how many of its rows came to what; of a block NULL
        undoes      of a batch that takes an earlier one back: that one; else NULL
        unread      whether the blocks of the earlier one count as unread again; else NULL
        run_id      dbt's invocation_id
        planned_at  when the manifest was written
    Partitions are batches, as in the ledger: those that its base stands for are one partition here too.
#}
{% macro _manifest_relation(ledger) %}
    {{ return(collapsing._beside(ledger, 'manifest')) }}
{% endmacro %}


{#
    Returns, of a ledger that has the batches `batches`,
        undone         pairs [undo or redo, the batch that it takes back], newest first, without those that were taken back themselves
        undos          numbers of all undos and redos
        unread         batches whose blocks count as unread again
        folded         `with_blocks`: the blocks that are folded, [{block, planned_in, packed, bucket}], block as _carried_text has it
                       and the last two for _is_packed_in
        planned_at     when the last batch was planned, in microseconds since 1970
        lacks_history  `with_history`: whether the last batch has no row in the history: its run was killed in between
    One row of JSON, by one task: dbt guesses types from each cell of a result, and there may be ten thousand blocks.
#}
{% macro _manifest_of(ledger, batches, with_blocks=false, with_history=false) %}
    {% set found = {'undone': [], 'undos': [], 'unread': [], 'folded': [], 'planned_at': 0, 'lacks_history': false} %}
    {% set manifest = load_relation(collapsing._manifest_relation(ledger)) %}
    {% if not batches or manifest is none %}
        {{ return(found) }}
    {% endif %}
    {% set history = load_relation(collapsing._history_relation(ledger)) if with_history else none %}
    {% set sql %}
        select
            to_json(collect_list(struct(planned_in, undoes, unread)) filter (where undoes is not null)) as undos,
            {{ '(select count(*) from ' ~ history ~ ' where ledger_batch = ' ~ batches.last ~ ')' if history is not none else 0 }} as history_rows,
            unix_micros(max(planned_at)) as planned_at
            {%- if with_blocks %},
            to_json(
                collect_list(struct({{ collapsing._carried_text('block') }} as block, planned_in, {{ collapsing._packed('block') }} as packed, {{ collapsing._bucket('block') }} as bucket))
                filter (where block is not null)
            ) as blocks
            {%- endif %}
        from (select /*+ coalesce(1) */ * from {{ manifest }} where {{ collapsing._is_committed(batches) }})
    {% endset %}
    {% set row = collapsing._rows_of(sql)[0] %}
    {% set undos = fromjson(row[0]) | sort(attribute='planned_in', reverse=true) %}
    {% do found.undos.extend(undos | map(attribute='planned_in')) %}
    {#- an undo that was itself taken back, by a redo, undoes nothing -#}
    {% for undo in undos if undo.planned_in not in found.undone | map('last') %}
        {% do found.undone.append([undo.planned_in, undo.undoes]) %}
        {% do found.unread.append(undo.undoes) if undo.unread %}
    {% endfor %}
    {% do found.folded.extend(fromjson(row[3]) | rejectattr('planned_in', 'in', found.unread)) if with_blocks %}
    {{ return(dict(found, planned_at=row[2], lacks_history=with_history and row[1] == 0)) }}
{% endmacro %}


{#
    Raises an error where a ledger has folded blocks and its manifest is gone: every block would be folded again. A clone of a ledger
    comes without it, for dbt clones models alone.
#}
{% macro _check_manifest(ledger, settings, batches) %}
    {% set manifest = collapsing._manifest_relation(ledger) %}
    {% if settings.block and batches and load_relation(manifest) is none
        and collapsing._rows_of('select 1 from ' ~ ledger ~ ' where ledger_block is not null limit 1') %}
        {{ collapsing._raise(
            model.name, 'its table ' ~ manifest ~ ', which lists the folded blocks, is missing: every block would be folded again.'
            ~ ' Copy it from where the ledger came from, or rebuild the ledger with --full-refresh'
        ) }}
    {% endif %}
{% endmacro %}


{# Returns SQL that is true for the rows of the manifest about blocks that are folded, and do not count as unread again. #}
{% macro _is_folded(batches, manifest) %}
    {{ return(
        collapsing._is_committed(batches) ~ ' and block is not null'
        ~ (' and planned_in not in (' ~ manifest.unread | join(', ') ~ ')' if manifest.unread)
    ) }}
{% endmacro %}


{# Writes down which blocks a batch takes, and what becomes of its rows; `stored_as` is the number its rows have in the ledger. #}
{% macro _write_manifest(ledger, batch, stored_as) %}
    {% set values = ['(null, ' ~ batch.rows ~ 'L, ' ~ collapsing._decision_map(batch.decisions) ~ ', null, null)'] %}
    {% for block in batch.blocks %}
        {% do values.append('(' ~ collapsing._carried_literals([block.token]) ~ ', ' ~ block.rows ~ 'L, null, null, null)') %}
    {% endfor %}
    {% do collapsing._write_manifest_rows(ledger, batch.number, stored_as, values) %}
{% endmacro %}


{# Returns SQL for a map of decisions to numbers of rows. #}
{% macro _decision_map(decisions) %}
    {% set pairs = [] %}
    {% for decision, rows in decisions | dictsort %}
        {% do pairs.append("'" ~ decision ~ "', " ~ rows ~ 'L') %}
    {% endfor %}
    {{ return('map(' ~ pairs | join(', ') ~ ')') }}
{% endmacro %}


{# Writes the manifest of a batch. One that a killed run wrote under its number is overwritten, never added to. #}
{% macro _write_manifest_rows(ledger, number, stored_as, values) %}
    {% set manifest = collapsing._manifest_relation(ledger) %}
    {% do collapsing._create_beside(
        manifest, ledger, 'block string, staged bigint, planned_in int, decisions map<string, bigint>, undoes int, unread boolean, '
        ~ 'run_id string, planned_at timestamp_ltz, ledger_batch int'
    ) %}
    {% call statement('write_manifest') %}
        insert overwrite table {{ manifest }} partition (ledger_batch = {{ stored_as }})
        select /*+ coalesce(1) */
            block, staged, {{ number }}, cast(decisions as map<string, bigint>), cast(undoes as int), cast(unread as boolean),
            '{{ invocation_id }}', now()
        from values {{ values | join(', ') }} as planned (block, staged, decisions, undoes, unread)
    {% endcall %}
{% endmacro %}


{# Drops the manifest that a killed undo has left under a number, of a ledger whose batches have none. #}
{% macro _drop_manifest(ledger, number) %}
    {% set manifest = load_relation(collapsing._manifest_relation(ledger)) %}
    {% do collapsing._drop_batches(manifest, [number], ledger) if manifest is not none %}
{% endmacro %}


{# Merges the manifests of the batches up to `upto` into one that counts once their base is committed. #}
{% macro _merge_manifests(ledger, batches, upto) %}
    {% set manifest = load_relation(collapsing._manifest_relation(ledger)) %}
    {% if manifest is not none %}
        {#- what a killed optimize has left under this number -#}
        {% do collapsing._drop_range(manifest, -upto, -upto, ledger) %}
        {% set names = collapsing._describe(manifest).columns | map(attribute='name') | reject('equalto', 'ledger_batch') %}
        {% do collapsing._execute(collapsing._append(
            manifest,
            'select /*+ coalesce(1) */ ' ~ collapsing._row_list(names) ~ ', ' ~ -upto ~ ' as ledger_batch\nfrom ' ~ manifest
            ~ '\nwhere ' ~ collapsing._is_committed(batches) ~ ' and ledger_batch <= ' ~ upto,
            -upto, ledger
        )) %}
    {% endif %}
{% endmacro %}


{# Drops manifests that the one of a ledger's base stands for, and those of older bases. #}
{% macro _drop_merged_manifests(ledger, base) %}
    {% set manifest = load_relation(collapsing._manifest_relation(ledger)) %}
    {% do collapsing._drop_range(manifest, 1 - base, base, ledger) if manifest is not none %}
{% endmacro %}


{# Returns what can stand behind `from` for the visible rows of a ledger, without batches taken back and their undos. #}
{% macro _rows_not_undone(ledger) %}
    {% set rows = collapsing._visible_rows(ledger) %}
    {% set undone = collapsing._manifest_of(ledger, collapsing._batches_of(collapsing._named(ledger))).undone | sum(start=[]) %}
    {{ return(collapsing._rows_not_in(rows, undone)) }}
{% endmacro %}


{# Returns what can stand behind `from` for rows without those of batches that were taken back and of their undos. #}
{% macro _rows_not_in(rows, undone) %}
    {{ return('(select * from ' ~ rows ~ ' where ledger_batch not in (' ~ undone | join(', ') ~ '))' if undone else rows) }}
{% endmacro %}
