{#
    The rules of the engine versioned_collapsing. Events: an event counts when it is strictly newer than the last one its key
    has seen, by (version, delete after update). A delete leaves a tombstone, so that what arrives late and is older than the
    delete stays out.
#}


{#
    Gives the order in which the events of a key decide: the newest by (version, delete after update) first; of equal ones the
    first to arrive, as a stored row wins over an equal one that arrives later. A delete without a version decides only where
    no upsert follows it.
#}
{% macro _newest_first(settings, columns) %}
    {% set version = collapsing._row_list(settings.version, suffix=' desc') %}
    {% set first_arrived = collapsing._arrival_order(settings, columns) %}
    {% if settings.deletes == 'unversioned' %}
        {{ return('ledger_passed_over, ledger_delete, ' ~ version ~ ', ' ~ first_arrived) }}
    {% endif %}
    {{ return(version ~ ', ledger_delete desc, ' ~ first_arrived) }}
{% endmacro %}


{# Gives the keep rule of versioned events: SQL that is true for an event that is newer than what its key has seen. #}
{% macro _newest_event_applies(ledger, settings) %}
    {% set unversioned = settings.deletes == 'unversioned' %}
    {% if not ledger %}
        {{ return('not arrived.ledger_delete' if unversioned else 'true') }}
    {% endif %}
    {% set arrived = collapsing._one_value(settings.version, 'arrived') %}
    {% set stored = collapsing._one_value(settings.version, 'stored') %}
    {% set newer, same = arrived ~ ' > ' ~ stored, arrived ~ ' = ' ~ stored %}
    {% if unversioned %}
        {{ return(
            'if(\n        arrived.ledger_delete or arrived.ledger_deleted_in is not null,'
            ~ '\n        not arrived.ledger_delete or stored.ledger_sign = 1,'
            ~ '\n        coalesce(stored.ledger_sign, -1) = -1 or ' ~ newer ~ '\n    )'
        ) }}
    {% endif %}
    {{ return(
        'stored.ledger_sign is null'
        ~ '\n    or ' ~ newer
        ~ '\n    or (' ~ same ~ ' and arrived.ledger_delete and stored.ledger_sign = 1)'
    ) }}
{% endmacro %}


{#
    Gives the CTE `standing`, for deletes without a version: the unread events with `ledger_passed_over`, true for those that
    a delete or a replacement leaves without effect. A delete beside an upsert of its own key and block means a replacement,
    and is passed over; any other ends all that its key was before its block. `key` is the key, or the key and what else
    keeps batches apart.
#}
{% macro _standing_events(key) -%}
-- a delete beside an upsert of its block is passed over, and so is all that comes before the block of another delete
standing as (
    select
        *,
        ledger_replaces or coalesce(struct(ledger_arrival) < ledger_deleted_in, false) as ledger_passed_over
    from (
        select
            *,
            max(if(ledger_delete and not ledger_replaces, struct(ledger_arrival), null)) over (
                partition by {{ collapsing._row_list(key) }}
            ) as ledger_deleted_in
        from (
            select
                *,
                ledger_delete and bool_or(not ledger_delete) over (
                    partition by {{ collapsing._row_list(key) }}, ledger_arrival
                ) as ledger_replaces
            from unread
        )
    )
)
{%- endmacro %}


{#
    Gives a subquery of what is left of signed rows: of one key and version rows of opposite sign take each other away, a row
    the nearest earlier one of the other sign. `ledger_height` is how many rows are unpaired after each row; of the rows that
    are never paired, one stands at each height, the last to reach it. `ledger` is the ledger, or a subquery of its rows.
#}
{% macro _unpaired_rows(ledger, settings) -%}
{%- set pair = collapsing._row_list(settings.key + settings.version) -%}
(
    select * except (ledger_net, ledger_height, ledger_rank)
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
            from {{ ledger }}
        )
        where ledger_sign * ledger_net > 0 and ledger_sign * ledger_height between 1 and ledger_sign * ledger_net
    )
    where ledger_rank = 1
)
{%- endmacro %}
