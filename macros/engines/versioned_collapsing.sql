{#
    The rules of the engine versioned_collapsing. Events: an event counts when it is strictly newer than the last one its key
    has seen, by (version, delete after update). A delete leaves a tombstone, so that what arrives late and is older than the
    delete stays out.
#}


{#
    Gives the CTE `arrived`: one event a key, the one that decides. Of events equal in version the first to arrive counts
    (by block, then order_by, then the row's own values), as a stored row wins over an equal one that arrives later.
#}
{% macro _newest_events(settings, columns) %}
{%- set key = collapsing._row_list(settings.key) -%}
{%- set first_arrived = collapsing._arrival_order(settings, columns) -%}
{%- if settings.deletes == 'versioned' -%}
-- one event a key: the newest by (version, delete after update)
arrived as (
    select *
    from (
        select
            *,
            row_number() over (
                partition by {{ key }}
                order by {{ collapsing._row_list(settings.version, suffix=' desc') }}, ledger_delete desc, {{ first_arrived }}
            ) as ledger_rank
        from unread
    )
    where ledger_rank = 1
)
{%- else -%}
{{ collapsing._standing_events(settings) }},

-- a delete that stands has no version: it ends all that its key was before its block
survivors as (
    select *
    from (
        select
            *,
            max(if(ledger_delete, struct(ledger_arrival), null)) over (partition by {{ key }}) as ledger_deleted_in
        from standing
    )
    where ledger_deleted_in is null or struct(ledger_arrival) >= ledger_deleted_in
),

-- one event a key: the newest upsert after its last delete, or that delete
arrived as (
    select *
    from (
        select
            *,
            row_number() over (
                partition by {{ key }}
                order by ledger_delete, {{ collapsing._row_list(settings.version, suffix=' desc') }}, {{ first_arrived }}
            ) as ledger_rank
        from survivors
    )
    where ledger_rank = 1
)
{%- endif -%}
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


{# Gives the CTE `standing`: the unread events of a ledger whose deletes follow arrival, less those that only replace a row. #}
{% macro _standing_events(settings) -%}
-- a delete beside an upsert of its own key and block means a replacement, and is not there
standing as (
    select *
    from (
        select
            *,
            bool_or(not ledger_delete) over (
                partition by {{ collapsing._row_list(settings.key) }}, ledger_arrival
            ) as ledger_replaces
        from unread
    )
    where not (ledger_delete and ledger_replaces)
)
{%- endmacro %}


{#
    Gives a subquery of what is left of signed rows: of one key and version rows of opposite sign take each other away, a row
    the nearest earlier one of the other sign. `ledger_height` is how many rows are unpaired after each row; of the rows that
    are never paired, one stands at each height, the last to reach it. `rows` is the ledger, or part of it.
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
