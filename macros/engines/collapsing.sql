{#
    The engine collapsing, which has no version: rows count in the order in which they arrive, by batch, by block, then by order_by.
    From events, the last one decides what its key is. A row equal to the stored one changes nothing, so that a run
    without a block token may read the whole stage again. With `combine` such a row is combined again, so `combine` needs a token.
#}
{% macro _engine_collapsing(settings) %}
    {{ return({
        'needs': ['order_by'],
        'ignores': ['version', 'deletes', 'partition_by', 'tombstone_retention'],
        'because': 'rows count in the order in which they arrive',
        'looks_up': true,
        'last_arrival': true,
        'applies': 'true' if settings.combine else 'if(\n                incoming.ledger_delete,\n                not {same_content},'
            ~ '\n                coalesce(last_state.ledger_sign, -1) = -1 or not {same_row}\n            )',
        'sequence': ['ledger_arrival'],
        'in_sequence': 'true',
        'otherwise': 'superseded',
        'cancels': true,
        'adds_up': true
    }) }}
{% endmacro %}


{# Rows that carry their own sign, in the order in which they arrive. #}
{% macro _engine_collapsing__signed(settings) %}
    {{ return({
        'needs': ['sign', 'order_by'],
        'ignores': ['version', 'partition_by', 'tombstone_retention', 'is_deleted', 'deletes', 'combine'],
        'because': 'rows bring their own cancel rows and count in the order in which they arrive',
        'is_signed': true,
        'keeps_every_row': true,
        'adds_up': true,
        'final': collapsing._last_states,
        'collapsed': collapsing._uncollapsed_rows,
        'inconsistent': collapsing._keys_out_of_balance
    }) }}
{% endmacro %}


{#
    Returns a query of the keys of signed rows that have two state rows more than cancel rows at the end of a batch, or two less. An
    optimize up to there keeps one row of them, after which a later row of the key does not leave what it would have left before.
#}
{% macro _keys_out_of_balance(rows, settings) -%}
{%- set key = collapsing._column_list(settings.key) -%}
select distinct {{ key }}
from (
    select
        {{ key }},
        ledger_batch,
        sum(ledger_sign) over (
            partition by {{ key }} order by ledger_batch, ledger_place rows between unbounded preceding and current row
        ) as ledger_net,
        lead(ledger_batch) over (partition by {{ key }} order by ledger_batch, ledger_place) as ledger_next
    from {{ rows }}
)
where not (ledger_batch <=> ledger_next) and abs(ledger_net) > 1
{%- endmacro %}


{# Returns a subquery of the state rows that FINAL shows of signed rows. #}
{% macro _last_states(rows, settings) %}
    {{ return('(select * from ' ~ collapsing._uncollapsed_rows(rows, settings) ~ ' where ledger_sign = 1)') }}
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
