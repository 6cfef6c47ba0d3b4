{#
    The engine collapsing, which has no version: rows count in the order in which they arrive, by batch, by block, then by order_by.
    The last event decides what its key is; one that equals the stored row changes nothing.
#}
{% macro _engine_collapsing(settings) %}
    {{ return({
        'needs': ['order_by', 'block'],
        'ignores': ['version', 'deletes', 'partition_by', 'tombstone_retention'],
        'because': 'rows count in the order in which they arrive',
        'looks_up': true,
        'last_arrival': true,
        'applies': 'true' if settings.combine else 'not if(incoming.ledger_delete, {same_content}, {same_row})',
        'sequence': ['ledger_arrival'],
        'in_sequence': 'true',
        'otherwise': 'superseded',
        'cancels': true,
        'adds_up': true
    }) }}
{% endmacro %}


{# Rows that carry their own sign, in the order in which they arrive. #}
{% macro _engine_collapsing_signed(settings) %}
    {{ return({
        'needs': ['sign', 'order_by', 'block'],
        'ignores': ['version', 'partition_by', 'tombstone_retention', 'is_deleted', 'deletes', 'combine'],
        'because': 'rows bring their own cancel rows and count in the order in which they arrive',
        'keeps_every_row': true,
        'adds_up': true,
        'collapsed': collapsing._uncollapsed_rows
    }) }}
{% endmacro %}


{#
    Returns a subquery of what is left of signed rows, by the four cases of CollapsingMergeTree: with as many states as cancels
    and a state last, the first cancel and the last state; with more states the last state; with more cancels the first
    cancel; else nothing.
#}
{% macro _uncollapsed_rows(rows, settings) -%}
{%- set key = collapsing._column_list(settings.key) -%}
(
    select *
    from (
        select
            *,
            sum(ledger_sign) over (partition by {{ key }}) as ledger_net,
            max_by(ledger_sign, struct(ledger_batch, ledger_place)) over (partition by {{ key }}) as ledger_last_sign,
            row_number() over (
                partition by {{ key }}, ledger_sign order by ledger_sign * ledger_batch desc, ledger_sign * ledger_place desc
            ) as ledger_rank
        from {{ rows }}
    )
    where
        -- the last state or the first cancel
        ledger_rank = 1
        and (ledger_sign * ledger_net > 0 or (ledger_net = 0 and ledger_last_sign = 1))
)
{%- endmacro %}
