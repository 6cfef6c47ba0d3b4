{#
    The engine versioned_collapsing, from events: an event applies when it is strictly newer than the last one its key has seen, by
    (version, delete after update). A delete leaves a tombstone, so that what arrives late and is older than the delete stays out.
#}
{% macro _engine_versioned_collapsing(settings) %}
    {{ return({
        'needs': ['version'],
        'ignores': ['partition_by'],
        'because': 'the newest version of a key is live',
        'looks_up': true,
        'order': collapsing._column_list(settings.version, suffix=' desc') ~ ', ledger_delete desc',
        'applies': collapsing._sql_is_newer(settings, 'incoming', 'last_state'),
        'sequence': settings.version + ['ledger_delete', 'ledger_arrival'],
        'in_sequence': collapsing._sql_is_newer(settings, 'new', 'old'),
        'rank_in_sequence': 'row_number() over (partition by {key}, ' ~ collapsing._column_list(settings.version)
            ~ ', ledger_delete order by {arrival})',
        'otherwise': 'tie' if settings.combine else 'superseded',
        'cancels': true,
        'adds_up': true,
        'tombstones': true
    }) }}
{% endmacro %}


{# Returns SQL that is true for an event that is newer than what its key has seen; a delete removes the very version it names. #}
{% macro _sql_is_newer(settings, event, seen) %}
    {{ return(
        seen ~ '.ledger_sign is null' ~ '\n            or ' ~ collapsing._compares(settings, event, '>', seen)
        ~ '\n            or (' ~ collapsing._compares(settings, event, '=', seen) ~ ' and ' ~ event ~ '.ledger_delete and ' ~ seen
        ~ '.ledger_sign = 1)'
    ) }}
{% endmacro %}


{# Rows that carry their own sign: of one key and version opposite signs cancel; surplus cancel rows show, as in ClickHouse. #}
{% macro _engine_versioned_collapsing_signed(settings) %}
    {{ return({
        'needs': ['sign', 'version', 'block'],
        'ignores': ['partition_by', 'tombstone_retention', 'is_deleted', 'deletes', 'combine'],
        'because': 'rows bring their own cancel rows, each with the version that it cancels',
        'keeps_every_row': true,
        'shows_cancel_rows': true,
        'adds_up': true,
        'collapsed': collapsing._unpaired_rows
    }) }}
{% endmacro %}


{#
    Returns a subquery of what is left of signed rows: of one key and version rows of opposite sign cancel each other, a row
    the nearest earlier one of the other sign. `ledger_height` is how many rows are unpaired after each row; of the rows that
    are never paired, one stands at each height, the last to reach it.
#}
{% macro _unpaired_rows(rows, settings) -%}
{%- set pair = collapsing._column_list(settings.key + settings.version) -%}
(
    select *
    from (
        select
            *,
            row_number() over (
                partition by {{ pair }}, ledger_height order by ledger_batch desc, ledger_place desc
            ) as ledger_rank
        from (
            select
                *,
                sum(ledger_sign) over (partition by {{ pair }}) as ledger_net,
                sum(ledger_sign) over (
                    partition by {{ pair }} order by ledger_batch, ledger_place
                    rows between unbounded preceding and current row
                ) as ledger_height
            from {{ rows }}
        )
        where ledger_sign * ledger_net > 0 and ledger_sign * ledger_height between 1 and ledger_sign * ledger_net
    )
    where ledger_rank = 1
)
{%- endmacro %}


{#
    The engine versioned_collapsing with `deletes: unversioned`, the rule of the article's Example3: the version of a delete means nothing.
    A delete whose block also has an upsert of its key is part of a replacement and is skipped. Any other delete ends everything that
    its key was before its block, whatever the version. There are no tombstones.
#}
{% macro _engine_versioned_collapsing_unversioned_deletes(settings) %}
    {% set is_newer = collapsing._compares(settings, 'incoming', '>', 'last_state') %}
    {% set version = collapsing._column_list(settings.version) %}
    {{ return(dict(
        collapsing._engine_versioned_collapsing(settings),
        unversioned_deletes=true,
        ignores=['partition_by', 'tombstone_retention'],
        because='the newest version of a key is live, and a delete leaves no tombstone',
        order='ledger_skipped, ledger_delete, ' ~ collapsing._column_list(settings.version, suffix=' desc'),
        marks_skipped=collapsing._skipped_events,
        applies='incoming.ledger_delete\n            or incoming.ledger_deleted_in is not null'
            ~ '\n            or coalesce(last_state.ledger_sign, -1) = -1' ~ '\n            or ' ~ is_newer,
        sequence=['ledger_arrival', 'ledger_delete'] + settings.version,
        in_sequence='new.ledger_delete or coalesce(old.ledger_sign, -1) <> 1 or ' ~ collapsing._compares(settings, 'new', '>', 'old'),
        rank_in_sequence='if(ledger_skipped or not ledger_delete and struct(' ~ version ~ ') <= max('
            ~ 'if(ledger_skipped or ledger_delete, null, struct(' ~ version ~ '))) over (partition by {key}'
            ~ ' order by ledger_arrival, ' ~ version ~ ', {arrival} rows between unbounded preceding and 1 preceding), 2, 1)',
        otherwise='superseded',
        tombstones=false
    )) }}
{% endmacro %}


{#
    Returns a subquery of the unread rows with `ledger_skipped`, true for those that a delete or a replacement leaves without effect:
    a delete whose block has an upsert too, and everything before the block of another delete, `ledger_deleted_in`. `partition` are the
    columns that separate keys, or keys of several batches.
#}
{% macro _skipped_events(rows, partition) -%}
(
        select
            *,
            ledger_replaces or coalesce(struct(ledger_arrival) < ledger_deleted_in, false) as ledger_skipped
        from (
            select
                *,
                max(if(ledger_delete and not ledger_replaces, struct(ledger_arrival), null)) over (
                    partition by {{ partition }}
                ) as ledger_deleted_in
            from (
                select
                    *,
                    ledger_delete and bool_or(not ledger_delete) over (partition by {{ partition }}, ledger_arrival) as ledger_replaces
                from {{ rows }}
            )
        )
    )
{%- endmacro %}
