{#
    An engine is a file here: a macro `_engine_<name>(settings)` that returns, as data and small SQL, what differs between engines;
    `_engine_<name>_signed` is the one for `input: signed`, `_engine_<name>_unversioned_deletes` for `deletes: unversioned`. The rest
    of the package asks these rules, and names an engine only in messages. What an engine does not name is false, or there is none.

        needs, ignores   settings beside `key` that it must have, and those that have no effect with it
        because          the reason of both, for messages
        looks_up         whether a batch needs the last state of its keys
        marks_skipped    macro: a subquery of the unread rows with `ledger_skipped`, for rows that never apply; none where there are none
        keeps_every_row  whether rows are appended as they are, and the live ones are determined when the ledger is read
        order            SQL by which the rows of a key in a batch count, the one that decides first; arrival settles the rest
        last_arrival     whether among equals the last to arrive decides, not the first
        last_state       SQL by which the rows that the ledger has of a key are ordered, the last state first; by default the newest batch,
                         in it the state row or tombstone before the cancel row
        applies          SQL over `incoming` and `last_state`, true for a row that its key's last state does not keep out;
                         `{same_row}` stands for SQL that is true where both are the same row, `{same_content}` where they differ
                         in order_by at most
        sequence         columns by which `combine` orders the events of a key; order_by and the rest of the row settle what is left
        in_sequence      `applies` between two events of a key that `combine` folds one after the other, `new` and `old`
        rank_in_sequence SQL that is 1 for each event that follows those before it in the sequence, by default 1; `{key}` stands
                         for the columns that separate keys, `{arrival}` for the order of arrival
        otherwise        the decision about a row that could apply, and another row of its key and batch did instead
        cancels          whether the last state is cancelled when an event applies
        tombstones       whether a delete leaves a tombstone
        unversioned_deletes   whether a delete may have no version
        adds_up          whether sums over its rows by sign are right: not where a row is replaced without a cancel row
        shows_cancel_rows   whether a cancel row without its state row is shown
        collapsed        macro: a subquery of the rows that OPTIMIZE FINAL leaves, for engines that keep every row; FINAL shows the state rows
                         among them. They may have columns of the engine's own beside the ledger's
#}
{% macro _engine(settings) %}
    {% set engines, signed = {
        'versioned_collapsing': collapsing._engine_versioned_collapsing_unversioned_deletes if settings.deletes == 'unversioned'
            else collapsing._engine_versioned_collapsing,
        'collapsing': collapsing._engine_collapsing,
        'replacing': collapsing._engine_replacing,
        'deduplicating': collapsing._engine_deduplicating
    }, {
        'versioned_collapsing': collapsing._engine_versioned_collapsing_signed,
        'collapsing': collapsing._engine_collapsing_signed
    } %}
    {% set rules = (signed if settings.input == 'signed' and settings.engine in signed else engines)[settings.engine](settings) %}
    {{ return(dict({'last_state': 'ledger_batch desc, ledger_sign desc', 'rank_in_sequence': '1'}, **rules)) }}
{% endmacro %}


{# Returns the names of the engines that a model may ask for, the default first. #}
{% macro _engine_names() %}
    {{ return(['versioned_collapsing', 'collapsing', 'deduplicating', 'replacing']) }}
{% endmacro %}


{# Returns SQL that is true if the versions of two rows compare as `comparison` says; several columns are compared in order. #}
{% macro _compares(settings, one, comparison, other) %}
    {% set begins, ends = ['struct(', ')'] if settings.version | length > 1 else ['', ''] %}
    {{ return(
        begins ~ collapsing._column_list(settings.version, one) ~ ends ~ ' ' ~ comparison ~ ' '
        ~ begins ~ collapsing._column_list(settings.version, other) ~ ends
    ) }}
{% endmacro %}


{# Returns a subquery of the first row by `order` among the rows of each value of the columns `by`. #}
{% macro _first_rows(rows, by, order) -%}
(
    select *
    from (
        select
            *,
            row_number() over (partition by {{ collapsing._column_list(by) }} order by {{ order }}) as ledger_rank
        from {{ rows }}
    )
    where ledger_rank = 1
)
{%- endmacro %}
