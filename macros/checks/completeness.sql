{#
    Returns a query of the differences between a stage and its ledger, one row per violation: `finding`, `ledger_key` (the key
    as JSON) or `ledger_block` (a token) or both, `expected` and `actual` (numbers of rows), in order of keys, then blocks.
    The description of the test `complete` says what each of them means. `decided` is what _decided_rows gives of ledger and
    stage.

    Without a block token it is not known which rows the ledger has folded, so only decisions are counted.
#}
{% macro _unaccounted(ledger, stage, settings, decided) %}
{%- set token = collapsing._token(settings, collapsing._stage_columns('select * from ' ~ stage, settings)) -%}
{%- set rules = collapsing._rules_of_complete(settings) -%}
with

{{ collapsing._rows_of_all(ledger, stage, settings, decided, token) }},

{{ collapsing._tally() }},

{{ collapsing._compared_batches(ledger, stage, token) }},

judged as (
    select
        tally.*,
        compared.ledger_batch is not null as is_compared,
        sum(tally.states - tally.cancels) over (partition by level, ledger_key order by tally.ledger_batch) as live
    from tally
    left join compared on tally.ledger_batch = compared.ledger_batch
),

findings as (
    select
        rule.finding,
        {{ collapsing._as_json('judged.ledger_key') }} as ledger_key,
        judged.ledger_block,
        rule.expected,
        rule.actual
    from judged
    lateral view inline(array_compact(array(
        {%- for condition, finding, expected, actual in rules %}
        if(
            {{ condition }},
            struct('{{ finding }}', cast({{ expected }} as bigint), cast({{ actual }} as bigint)),
            null
        ){{ ',' if not loop.last }}
        {%- endfor %}
    ))) rule as finding, expected, actual
    union all
    {{ collapsing._block_findings(ledger) }}
)

select * from findings
order by ledger_key, ledger_block, finding, expected, actual
{% endmacro %}


{#
    Returns the CTE `rows_of_all`: staged rows, decisions about them (`owed` 1 where the ledger has to have a row for it) and
    rows of the ledger (`found` 1 for all but the cancel rows that it writes itself). `ledger_row` identifies the rows of a
    key in a batch by version, order_by and sign, because a stage that is a view may return other values today.
#}
{% macro _rows_of_all(ledger, stage, settings, decided, token) -%}
{%- set key = 'struct(' ~ collapsing._column_list(settings.key) ~ ')' -%}
{%- set ordering = collapsing._column_list((settings.version + settings.order_by) | unique | list) -%}
{%- set ordering = ', ' ~ ordering if ordering -%}
rows_of_all as (
    select
        {{ key }} as ledger_key,
        {{ token }} as ledger_block,
        cast(null as int) as ledger_batch,
        null as ledger_row,
        null as ledger_sign,
        1 as staged,
        0 as owed,
        0 as found,
        cast(null as string) as decision,
        false as deletes
    from {{ stage }}
    union all
    select
        {{ key }} as ledger_key,
        {{ token }} as ledger_block,
        ledger_batch,
        struct({{ collapsing._own_sign(settings) }} as ledger_sign{{ ordering }}) as ledger_row,
        null as ledger_sign,
        0 as staged,
        if({{ collapsing._leaves_a_row(settings) }}, 1, 0) as owed,
        0 as found,
        coalesce(ledger_decision, 'none') as decision,
        ledger_delete as deletes
    from (select *, {{ collapsing._sql_is_delete(settings) }} as ledger_delete from {{ decided }})
    union all
    select
        {{ key }} as ledger_key,
        ledger_block,
        ledger_batch,
        struct(ledger_sign{{ ordering }}) as ledger_row,
        ledger_sign,
        0 as staged,
        0 as owed,
        {{ '1' if collapsing._engine(settings).keeps_every_row else 'if(ledger_sign = -1, 0, 1)' }} as found,
        cast(null as string) as decision,
        false as deletes
    from {{ collapsing._visible_rows(ledger) | indent(4) }}
)
{%- endmacro %}


{# Returns SQL that is true for a decided row that the ledger has to have a row for, other than a cancel row. #}
{% macro _leaves_a_row(settings) %}
    {% if collapsing._engine(settings).keeps_every_row and not settings.combine %}
        {{ return("ledger_decision not in ('unread', '" ~ collapsing._bad_row_reasons(settings) | join("', '") ~ "')") }}
    {% endif %}
    {% if collapsing._engine(settings).tombstones %}{{ return("ledger_decision in ('applied', 'orphan_delete')") }}{% endif %}
    {{ return("ledger_decision = 'applied' and not ledger_delete") }}
{% endmacro %}


{# Returns the CTE `tally`: the rows counted by key and block, by row, and by key and batch (`level`). #}
{% macro _tally() -%}
{%- set known = collapsing._decision_names() + ['unread'] -%}
tally as (
    select
        ledger_key,
        ledger_block,
        ledger_batch,
        case when grouping(ledger_batch) = 1 then 'block' when grouping(ledger_row) = 1 then 'batch' else 'row' end as level,
        sum(staged) as staged,
        count(decision) as decided,
        count_if(decision not in ('{{ known | join("', '") }}')) as ledger_unknown,
        sum(owed) as owed,
        sum(found) as found,
        bool_or(decision <=> 'applied') as applies,
        bool_or(decision <=> 'applied' and deletes) as deletes,
        count_if(ledger_sign = 1) as states,
        count_if(ledger_sign = -1) as cancels
    from rows_of_all
    group by grouping sets (
        (ledger_key, ledger_block),
        (ledger_key, ledger_block, ledger_batch, ledger_row),
        (ledger_key, ledger_batch)
    )
)
{%- endmacro %}


{#
    Returns the CTEs `planned`, blocks that the ledger has folded, `staged_blocks`, blocks that are staged, and `compared`:
    the batches of which every block is staged with as many rows as were folded, for of others a stage cannot tell what was
    decided. A compacted batch no longer has the rows that cancelled each other, and is not compared.
#}
{% macro _compared_batches(ledger, stage, token) -%}
planned as (
    select
        ledger_block,
        `rows` as staged,
        ledger_batch
    from {{ collapsing._visible_notes(ledger) | indent(4) }}
    where kind = 'block'
),

staged_blocks as (
    select
        {{ token }} as ledger_block,
        count(*) as staged
    from {{ stage }}
    group by {{ token }}
),

compared as (
    select planned.ledger_batch
    from planned
    left join staged_blocks on planned.ledger_block = staged_blocks.ledger_block
    where planned.ledger_batch > 0
    group by planned.ledger_batch
    having bool_and(planned.staged <=> staged_blocks.staged)
)
{%- endmacro %}


{# Returns the rules that a row of `judged` can break: (SQL that is true if it does, the finding, SQL for the two numbers). #}
{% macro _rules_of_complete(settings) %}
    {% set engine, owed, of_row = collapsing._engine(settings), 'owed', "level = 'row' and is_compared" %}
    {% set of_batch = "level = 'batch' and is_compared" %}
    {% if settings.combine %}
        {#- the last event may have been a delete that leaves no tombstone -#}
        {% set owed, of_row = 'least(owed, 1)', of_batch ~ ('' if engine.tombstones else ' and not deletes') %}
    {% endif %}
    {{ return([
        ("level = 'block' and staged <> decided", 'not_one_decision', 'staged', 'decided'),
        ("level = 'block' and ledger_unknown > 0", 'unknown_decision', '0', 'ledger_unknown'),
        (of_row ~ ' and ' ~ owed ~ ' > found', 'missing_row', owed, 'found'),
        (of_row ~ ' and ' ~ owed ~ ' < found', 'surplus_row', owed, 'found')
    ] + ([] if engine.keeps_every_row else [
        (of_batch ~ ' and applies and live <> states', 'wrong_live_rows', 'states', 'live'),
        (of_batch ~ ' and not applies and cancels > 0', 'cancel_without_event', '0', 'cancels')
    ])) }}
{% endmacro %}


{# Returns a query of the findings among blocks. #}
{% macro _block_findings(ledger) -%}
select
        'block_changed' as finding,
        null as ledger_key,
        planned.ledger_block,
        planned.staged as expected,
        staged_blocks.staged as actual
    from planned
    inner join staged_blocks on planned.ledger_block = staged_blocks.ledger_block
    where planned.staged <> staged_blocks.staged
    union all
    select
        'block_folded_twice' as finding,
        null as ledger_key,
        ledger_block,
        1 as expected,
        count(*) as actual
    from planned
    group by ledger_block
    having count(*) > 1
    union all
    select
        'block_without_note' as finding,
        null as ledger_key,
        stored.ledger_block,
        0 as expected,
        count(*) as actual
    from {{ collapsing._visible_rows(ledger) | indent(4) }} as stored
    left anti join planned on stored.ledger_block = planned.ledger_block and stored.ledger_batch = planned.ledger_batch
    where stored.ledger_block is not null
    group by stored.ledger_block
{%- endmacro %}
