{#
    The rules of the engine collapsing, which has no version: rows count in the order in which they arrive, by batch, by block,
    then by the setting order_by.
#}


{#
    Gives the keep rule: SQL that is true for an event that changes what its key is. A row equal to the stored one changes
    nothing: without a block token the whole stage is read again by every run.
#}
{% macro _last_event_applies(ledger, settings, columns) %}
    {% if not ledger %}
        {{ return('not arrived.ledger_delete') }}
    {% endif %}
    {% set rule = 'if(arrived.ledger_delete, stored.ledger_sign = 1, coalesce(stored.ledger_sign, -1) = -1' %}
    {% set kept = collapsing._kept_columns(columns, settings) %}
    {% set differs = [] %}
    {% for column in kept if column.name not in settings.key %}
        {% set name = adapter.quote(column.name) %}
        {#- maps do not compare: such a row is taken for another one -#}
        {% do differs.append('true' if 'map<' in column.dtype else 'not (arrived.' ~ name ~ ' <=> stored.' ~ name ~ ')') %}
    {% endfor %}
    {{ return(rule ~ (' or ' ~ differs | join(' or ') if differs else '') ~ ')') }}
{% endmacro %}


{#
    Gives a subquery of what is left of signed rows, by the four cases of CollapsingMergeTree: with as many states as cancels
    and a state last, the first cancel and the last state; with more states the last state; with more cancels the first
    cancel; else nothing. `states_only` leaves the cancel rows out, as FINAL does.
#}
{% macro _uncollapsed_rows(ledger, settings, states_only) -%}
{%- set key = collapsing._row_list(settings.key) -%}
(
    select * except (ledger_net, ledger_last_sign, ledger_rank)
    from (
        select
            *,
            sum(ledger_sign) over (partition by {{ key }}) as ledger_net,
            max_by(ledger_sign, struct(ledger_batch, ledger_place)) over (partition by {{ key }}) as ledger_last_sign,
            row_number() over (
                partition by {{ key }}, ledger_sign order by ledger_sign * ledger_batch desc, ledger_sign * ledger_place desc
            ) as ledger_rank
        from {{ ledger }}
    )
    where
        -- the last state or the first cancel
        ledger_rank = 1
        and (ledger_sign * ledger_net > 0 or (ledger_net = 0 and ledger_last_sign = 1))
        {%- if states_only %}
        and ledger_sign = 1
        {%- endif %}
)
{%- endmacro %}
