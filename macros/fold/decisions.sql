{# Returns the rank of a row in its batch, 1 for rows that could apply; with `combine` several rows of a key can. #}
{% macro _rank(settings, columns, by) %}
    {% set of_key = collapsing._column_list(by) %}
    {% if settings.combine %}{{ return(
        collapsing._engine(settings).rank_in_sequence
        | replace('{key}', of_key) | replace('{arrival}', collapsing._arrival_order(settings, columns))
    ) }}{% endif %}
    {{ return('row_number() over (partition by ' ~ of_key ~ ' order by ' ~ collapsing._counting_order(settings, columns) ~ ')') }}
{% endmacro %}


{# Returns the order in which the rows of a key in a batch count: the first of them decides what the key is afterwards. #}
{% macro _counting_order(settings, columns) %}
    {% set engine = collapsing._engine(settings) %}
    {% set arrival = collapsing._arrival_order(settings, columns, suffix=' desc' if engine.last_arrival else '') %}
    {{ return(engine.order ~ ', ' ~ arrival if engine.order else arrival) }}
{% endmacro %}


{#
    Returns the order in which rows of one batch arrived: by block, then order_by; then a cancel row before a state row, and
    the row's own values settle what is left, a delete last. Columns that have no order (maps) settle nothing.
#}
{% macro _arrival_order(settings, columns, suffix='') %}
    {#- as a number: '+1' is text before '-1' -#}
    {% set sign = [collapsing._as_number(settings.sign) ~ suffix] if settings.is_signed else [] %}
    {% set kept = collapsing._comparable_columns(collapsing._kept_columns(columns, settings)) %}
    {% set rest = kept | reject('in', settings.order_by) | list %}
    {% set ordered = ['ledger_arrival' ~ suffix, collapsing._column_list(settings.order_by, suffix=suffix)] + sign %}
    {{ return((ordered + [collapsing._column_list(rest, suffix=suffix), 'ledger_delete' ~ suffix]) | select | join(', ')) }}
{% endmacro %}


{# Returns SQL that is true for a staged row that deletes its key. #}
{% macro _sql_is_delete(settings) %}
    {% if settings.sign and not settings.is_signed %}{{ return(collapsing._as_number(settings.sign) ~ ' = -1') }}{% endif %}
    {% if settings.is_deleted %}{{ return(collapsing._as_number(settings.is_deleted) ~ ' = 1') }}{% endif %}
    {{ return('false') }}
{% endmacro %}


{# Returns the columns by which a staged row is a copy of another: all but block token, order_by and what has no equality. #}
{% macro _content_columns(settings, columns) %}
    {% set of_arrival = settings.order_by | reject('in', settings.key + settings.version) | list %}
    {{ return(collapsing._comparable_columns(collapsing._kept_columns(columns, settings)) | reject('in', of_arrival) | list) }}
{% endmacro %}


{#
    Returns SQL for the decision about a row `incoming`, beside `last_state` and `ledger_applies`, whether that state does not keep the
    row out, where the ledger was looked up.
#}
{% macro _decision(settings, columns, looked_up) %}
    {% set engine = collapsing._engine(settings) %}
    {% set live = 'coalesce(last_state.ledger_sign = 1, false)' if looked_up else 'false' %}
    {% set can_apply = 'incoming.ledger_rank = 1' ~ (' and ledger_applies' if looked_up else '') %}
    {% set cases = [
        can_apply ~ ' and ledger_delete and not ledger_has_upserts and not ' ~ live ~ " then 'orphan_delete'",
        can_apply ~ " then 'applied'",
        "ledger_copy > 1 then 'duplicate'"
    ] %}
    {% if looked_up and not settings.combine %}
        {% do cases.append(collapsing._equals_last_state(collapsing._content_columns(settings, columns)) ~ " then 'duplicate'") %}
    {% endif %}
    {% if engine.unread %}{% do cases.append("ledger_skipped then 'superseded'") %}{% endif %}
    {% if settings.version and looked_up %}
        {% do cases.append(
            collapsing._compares(settings, 'incoming', '=', 'last_state') ~ ' and ledger_delete <> ' ~ live ~ " then 'tie'"
        ) %}
        {% do cases.append("not ledger_applies then 'stale'") %}
    {% endif %}
    {% if settings.version %}
        {% do cases.append(
            'struct(' ~ collapsing._column_list(settings.version, 'incoming') ~ ", ledger_delete) = ledger_winner then 'tie'"
        ) %}
    {% endif %}
    {{ return(
        'case\n            when ' ~ cases | join('\n            when ') ~ "\n            else '" ~ engine.otherwise ~ "'\n        end"
    ) }}
{% endmacro %}


{# Returns the engine's rule by which a row applies, given its key's last state; what cannot be compared counts as different. #}
{% macro _applies(engine, settings, columns) %}
    {% set kept = collapsing._kept_columns(columns, settings) %}
    {% set comparable = collapsing._comparable_columns(kept) %}
    {% set same_row = collapsing._equals_last_state(comparable) if comparable | length == kept | length else 'false' %}
    {{ return(
        engine.applies | replace('{same_row}', same_row)
        | replace('{same_content}', collapsing._equals_last_state(collapsing._content_columns(settings, columns)))
    ) }}
{% endmacro %}


{# Returns SQL that is true for a row that equals the last state of its key in the columns `names`, NULLs too. #}
{% macro _equals_last_state(names) %}
    {% set same = ['last_state.ledger_sign is not null', 'incoming.ledger_delete = (last_state.ledger_sign <> 1)'] %}
    {% for name in names %}
        {% do same.append('incoming.' ~ adapter.quote(name) ~ ' <=> last_state.' ~ adapter.quote(name)) %}
    {% endfor %}
    {{ return('(' ~ same | join(' and ') ~ ')') }}
{% endmacro %}


{#
    Returns a subquery of every staged row with `decision`: the rows of each batch are decided about by the same SQL as in the fold,
    beside what the ledger had seen of their key before that batch.

    batches   as _batches_of returns it of the ledger
    manifest  as _manifest_of returns it
#}
{% macro _decided_rows(stage, ledger, settings, columns, batches, manifest) %}
{%- set names = columns | map(attribute='name') | list -%}
{%- set decided = 'select * from staged where ledger_reason is null' -%}
(
with

{{ collapsing._staged_rows(stage, ledger, settings, columns, batches, manifest) }},
{% if settings.is_signed %}
{{ collapsing._all_applied(decided) }}
{%- else %}
{%- set touched = collapsing._touched_before(ledger, settings, columns, manifest) if settings.block and batches %}
{{ collapsing._classified(decided, touched, settings, columns, by_batch=true) }}
{%- endif %}

select
    {{ collapsing._select_list(names, indent=4) }},
    ledger_batch,
    ledger_decision as decision
from classified
union all
select
    {{ collapsing._select_list(names, indent=4) }},
    ledger_batch,
    ledger_reason as decision
from staged
where ledger_reason is not null
)
{%- endmacro %}


{# Returns the CTE `staged`: every staged row with the batch that folded it, and with a reason if it is bad. #}
{% macro _staged_rows(stage, ledger, settings, columns, batches, manifest) -%}
{%- set is_planned = settings.block and batches -%}
-- every staged row with the batch that folded it
staged as (
    select
        {{ collapsing._select_list(columns | map(attribute='name'), of='staged') }},
        {{ 'blocks.ledger_batch' if is_planned else 'cast(null as int) as ledger_batch' }},
        {{ collapsing._sql_is_delete(settings) }} as ledger_delete,
        {{ collapsing._arrival(settings, of='staged') }} as ledger_arrival,
        coalesce(
            {{ collapsing._bad_reason(settings) }},
            {{ "if(blocks.ledger_batch is null, 'unread', null)" if is_planned else 'null' if batches else "'unread'" }}
        ) as ledger_reason
    from {{ collapsing._aliased(stage, 'staged') }}
    {%- if is_planned %}
    left join (
        select block as ledger_block, ledger_batch
        from {{ collapsing._beside(ledger, 'manifest') }}
        where
            {{ collapsing._sql_is_folded(batches, manifest.undone | map('last') | list) }}
    ) as blocks
        on {{ collapsing._token(settings, columns, of='staged') }} = blocks.ledger_block
    {%- endif %}
)
{%- endmacro %}


{#
    Returns the rows that a ledger had of each key of the CTE `unread` before each batch that took a row of it. Columns that are new in the
    stage, which no run has added yet, are NULL in them, as they will be then.
#}
{% macro _touched_before(ledger, settings, columns, manifest) -%}
{%- set stored = collapsing._types_of(ledger) | map('lower') | list -%}
select
        stored.*,
        {%- for column in collapsing._kept_columns(columns, settings) if column.name | lower not in stored %}
        cast(null as {{ collapsing._ddl_type(column.dtype) }}) as {{ adapter.quote(column.name) }},
        {%- endfor %}
        asked.ledger_batch as ledger_before
    from (select distinct {{ collapsing._column_list(settings.key) }}, ledger_batch from unread) as asked
    inner join {{ ledger }} as stored
        on {{ collapsing._same_key(settings.key, 'asked', 'stored') }} and stored.ledger_batch < asked.ledger_batch
        {%- for pair in manifest.undone %}
        and not (asked.ledger_batch > {{ pair[0] }} and stored.ledger_batch in ({{ pair | join(', ') }}))
        {%- endfor %}
{%- endmacro %}
