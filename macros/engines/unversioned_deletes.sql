{#
    The engine versioned_collapsing with `deletes: unversioned`, the rule of the article's Example3: a delete's version means nothing.
    A delete beside an upsert of its own key and block is part of a replacement and is skipped; any other delete ends all that
    its key was before its block, whatever its version. No tombstones.
#}
{% macro _engine_versioned_collapsing__unversioned_deletes(settings) %}
    {% set is_newer = collapsing._compares(settings, 'incoming', '>', 'last_state') %}
    {{ return(dict(collapsing._engine_versioned_collapsing(settings),
        order='ledger_skipped, ledger_delete, ' ~ collapsing._row_list(settings.version, suffix=' desc'),
        unread=collapsing._skipped_events,
        applies='incoming.ledger_delete'
            ~ '\n            or incoming.ledger_deleted_in is not null'
            ~ '\n            or coalesce(last_state.ledger_sign, -1) = -1'
            ~ '\n            or ' ~ is_newer,
        in_sequence='new.ledger_delete or coalesce(old.ledger_sign, -1) <> 1 or ' ~ collapsing._compares(settings, 'new', '>', 'old'),
        otherwise='superseded',
        tombstones=false
    )) }}
{% endmacro %}


{#
    Returns a subquery of the unread rows with `ledger_skipped`, true for those that a delete or a replacement leaves without effect:
    a delete beside an upsert of its block, and all that comes before the block of another delete, `ledger_deleted_in`. `history` is
    what keeps keys, or keys of several batches, apart.
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
