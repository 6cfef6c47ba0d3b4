{#
    <ledger>__blocks notes what each batch of a ledger takes: a row for each block, and one without a block for the batch itself.
    A note is written before its batch and is true when the ledger holds that batch.
        block      the token, as text; NULL in the row of the batch
        staged     how many rows the block, or the batch, had when it was taken
        taken_in   the batch
        decisions  of the batch: how many of its rows came to what; of a block NULL
        undoes     of a batch that takes an earlier one back: that one; else NULL
        unread     whether the blocks of the earlier one count as unread again; else NULL
        run_id     dbt's invocation_id
        taken_at   when the note was written
    Partitions are batches, as in the ledger: those that its base stands for are one partition here too.
#}
{% macro _blocks_relation(ledger) %}
    {{ return(collapsing._beside(ledger, 'blocks')) }}
{% endmacro %}


{#
    Gives, of a ledger that holds the batches `held`,
        undone   pairs [batch, the batch that it takes back], newest first
        unread   batches whose blocks count as unread again
        folded   `with_blocks`: the blocks that are folded, a list of {block, taken_in, packed, place}, the last two for _is_packed_in
    In one row of JSON, by one task: dbt guesses types from each cell of a result, and there may be ten thousand blocks.
#}
{% macro _notes_of(ledger, held, with_blocks=false) %}
    {% set notes = {'undone': [], 'unread': [], 'folded': []} %}
    {% set blocks = load_relation(collapsing._blocks_relation(ledger)) %}
    {% if held and blocks %}
        {% set sql %}
            select
                to_json(collect_list(struct(taken_in, undoes, unread)) filter (where undoes is not null))
                {%- if with_blocks %},
                to_json(collect_list(struct(block, taken_in, {{ collapsing._packed('block') }} as packed, {{ collapsing._place('block') }} as place))
                    filter (where block is not null))
                {%- endif %}
            from (select /*+ coalesce(1) */ * from {{ blocks }} where {{ collapsing._is_held(held) }})
        {% endset %}
        {% set row = collapsing._rows_of(sql)[0] %}
        {% set undos = fromjson(row[0]) %}
        {% set targets = {} %}
        {% for undo in undos %}
            {% do targets.update({undo.taken_in: undo.undoes}) %}
        {% endfor %}
        {#- an undo that was itself taken back undoes nothing -#}
        {% for undo in undos | sort(attribute='taken_in', reverse=true) if undo.taken_in not in notes.undone | map('last') %}
            {% do notes.undone.append([undo.taken_in, undo.undoes]) %}
            {% set taken_out = collapsing._taken_out_by(undo.taken_in, targets) %}
            {% do notes.unread.append(taken_out) if undo.unread and taken_out %}
        {% endfor %}
        {% do notes.folded.extend(fromjson(row[1]) | rejectattr('taken_in', 'in', notes.unread)) if with_blocks %}
    {% endif %}
    {{ return(notes) }}
{% endmacro %}


{#
    Stops where a ledger has folded blocks and its notes of them are gone: every block would be folded again. A clone of a ledger
    comes without them, for dbt clones models alone.
#}
{% macro _refuse_lost_notes(ledger, settings) %}
    {% set blocks = collapsing._blocks_relation(ledger) %}
    {% if settings.block and load_relation(blocks) is none
        and collapsing._rows_of('select 1 from ' ~ ledger ~ ' where ledger_block is not null limit 1') %}
        {{ collapsing._refuse(
            model.name, 'its table ' ~ blocks ~ ', which tells the blocks that were folded, is not there: each would be folded again.'
            ~ ' Copy it from where the ledger came from, or rebuild the ledger with --full-refresh'
        ) }}
    {% endif %}
{% endmacro %}


{#
    Gives the batch whose blocks an undo takes out of the ledger: the one that it takes back, or, where that is the undo of an
    undo, the one that this had brought back; none where there is none. `targets` is {undo: the batch that it takes back}.
#}
{% macro _taken_out_by(number, targets) %}
    {% set found = namespace(batch=targets[number]) %}
    {% for _ in targets if found.batch in targets %}
        {% set found.batch = targets.get(targets[found.batch]) %}
    {% endfor %}
    {{ return(found.batch) }}
{% endmacro %}


{# Gives SQL that is true for the notes of blocks that are folded, and do not count as unread again. #}
{% macro _is_folded(held, notes) %}
    {{ return(
        collapsing._is_held(held) ~ ' and block is not null'
        ~ (' and taken_in not in (' ~ notes.unread | join(', ') ~ ')' if notes.unread)
    ) }}
{% endmacro %}


{# Writes down which blocks a batch takes, and what becomes of its rows. #}
{% macro _note_blocks(ledger, number, found, decisions) %}
    {% set counts = [] %}
    {% for decision, rows in decisions.items() %}
        {% do counts.append("'" ~ decision ~ "', " ~ rows ~ 'L') %}
    {% endfor %}
    {% set values = ['(null, ' ~ found.rows ~ 'L, map(' ~ counts | join(', ') ~ '), null, null)'] %}
    {% for block in found.summary %}
        {% do values.append('(' ~ collapsing._text_literal(block.token) ~ ', ' ~ block.rows ~ 'L, null, null, null)') %}
    {% endfor %}
    {% do collapsing._note(ledger, number, values) %}
{% endmacro %}


{# Writes the note of a batch. One that a killed run wrote under its number is overwritten, never added to. #}
{% macro _note(ledger, number, values) %}
    {% set blocks = collapsing._blocks_relation(ledger) %}
    {% if load_relation(blocks) is none %}
        {% call statement('create_blocks') %}
            create table if not exists {{ blocks }} (
                block string, staged bigint, taken_in int, decisions map<string, bigint>, undoes int, unread boolean,
                run_id string, taken_at timestamp, ledger_batch int
            )
            {{ collapsing._using(ledger) }}
            partitioned by (ledger_batch)
        {% endcall %}
        {% do adapter.cache_added(blocks) %}
    {% endif %}
    {% call statement('note_blocks') %}
        insert overwrite table {{ blocks }} partition (ledger_batch = {{ number }})
        select /*+ coalesce(1) */
            block, staged, {{ number }}, cast(decisions as map<string, bigint>), cast(undoes as int), cast(unread as boolean),
            '{{ invocation_id }}', current_timestamp()
        from values {{ values | join(', ') }} as taken (block, staged, decisions, undoes, unread)
    {% endcall %}
{% endmacro %}


{# Gives what can stand behind `from` for the rows of a ledger that count, without batches taken back and their undos. #}
{% macro _rows_not_undone(ledger) %}
    {% set rows = collapsing._counted_rows(ledger) %}
    {% set undone = collapsing._notes_of(ledger, collapsing._batches_of(collapsing._named(ledger))).undone | sum(start=[]) %}
    {{ return('(select * from ' ~ rows ~ ' where ledger_batch not in (' ~ undone | join(', ') ~ '))' if undone else rows) }}
{% endmacro %}
