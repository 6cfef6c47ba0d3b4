{#
    The engine versioned_collapsing with `deletes: unversioned`, the rule of the article's Example3: the version of a delete means nothing.
    A delete whose block also has an upsert of its key is part of a replacement and is skipped. Any other delete ends everything that
    its key was before its block, whatever the version. There are no tombstones.
#}
{% macro _engine_versioned_collapsing__unversioned_deletes(settings) %}
    {% set is_newer = collapsing._compares(settings, 'incoming', '>', 'last_state') %}
    {% set version = collapsing._row_list(settings.version) %}
    {{ return(dict(collapsing._engine_versioned_collapsing(settings),
        ignores=['partition_by', 'tombstone_retention'],
        because='the newest version of a key is live, and a delete leaves no tombstone',
        order='ledger_skipped, ledger_delete, ' ~ collapsing._row_list(settings.version, suffix=' desc'),
        unread=collapsing._skipped_events,
        last_state='ledger_batch desc, ledger_sign desc',
        applies='incoming.ledger_delete'
            ~ '\n            or incoming.ledger_deleted_in is not null'
            ~ '\n            or coalesce(last_state.ledger_sign, -1) = -1'
            ~ '\n            or ' ~ is_newer,
        sequence=['ledger_arrival', 'ledger_delete'] + settings.version,
        in_sequence='new.ledger_delete or coalesce(old.ledger_sign, -1) <> 1 or ' ~ collapsing._compares(settings, 'new', '>', 'old'),
        rank_in_sequence='if(ledger_skipped or not ledger_delete and struct(' ~ version ~ ') <= max('
            ~ 'if(ledger_skipped or ledger_delete, null, struct(' ~ version ~ '))) over (partition by {history}'
            ~ ' order by ledger_arrival, ' ~ version ~ ', {arrival} rows between unbounded preceding and 1 preceding), 2, 1)',
        otherwise='superseded',
        tombstones=false
    )) }}
{% endmacro %}


{#
    Returns a subquery of the unread rows with `ledger_skipped`, true for those that a delete or a replacement leaves without effect:
    a delete whose block has an upsert too, and everything before the block of another delete, `ledger_deleted_in`. `history` are the
    columns that separate keys, or keys of several batches.
#}
{% macro _skipped_events(rows, history) -%}
(
        select
            *,
            ledger_replaces or coalesce(struct(ledger_arrival) < ledger_deleted_in, false) as ledger_skipped
        from (
            select
                *,
                max(if(ledger_delete and not ledger_replaces, struct(ledger_arrival), null)) over (
                    partition by {{ history }}
                ) as ledger_deleted_in
            from (
                select
                    *,
                    ledger_delete and bool_or(not ledger_delete) over (partition by {{ history }}, ledger_arrival) as ledger_replaces
                from {{ rows }}
            )
        )
    )
{%- endmacro %}
