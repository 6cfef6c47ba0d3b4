{#
    Returns a query of the differences between a stage and its ledger, one row per finding: `finding`, `ledger_key` (the
    key as JSON) or `ledger_block` (a token) or both, `expected` and `actual` (numbers of rows), in order of keys, then blocks.
    _rules_of_complete, _block_findings and the test `complete` say what each finding means.

    decided  what `decisions` gives of ledger and stage

    Without a block token it is not known which rows the ledger has folded, so only decisions are counted.
#}
{% macro _unaccounted(ledger, stage, settings, decided) %}
{%- set token = collapsing._token(settings, collapsing._stage_columns('select * from ' ~ stage, settings)) -%}
{%- set batches = collapsing._batches_of(ledger) if settings.block -%}
{%- set manifest = collapsing._manifest_of(ledger, batches) -%}
{%- set rows = collapsing._visible_rows(ledger, batches.last if batches else none) -%}
with

{{ collapsing._rows_of_all(rows if batches else none, stage, settings, decided, token) }},

{{ collapsing._tally() }},

{% if batches -%}
{{ collapsing._compared_batches(ledger, stage, batches, manifest, token) }},

{% endif -%}
judged as (
    select
        tally.*,
        {{ 'compared.ledger_batch is not null' if batches else 'false' }} as is_compared,
        sum(tally.states - tally.cancels) over (partition by level, ledger_key order by tally.ledger_batch) as live
    from tally
    {%- if batches %}
    left join compared on tally.ledger_batch = compared.ledger_batch
    {%- endif %}
),

findings as (
    select
        law.finding,
        {{ collapsing._as_json('judged.ledger_key') }} as ledger_key,
        judged.ledger_block,
        law.expected,
        law.actual
    from judged
    lateral view inline(
        array_compact(array(
            {{ collapsing._rules_of_complete(settings) | join(',\n            ') }}
        ))
    ) law as finding, expected, actual
    {%- if batches %}
    union all
    {{ collapsing._block_findings(rows, ledger, batches, manifest) }}
    {%- endif %}
)

select * from findings
order by ledger_key, ledger_block, finding, expected, actual
{% endmacro %}


{#
    Returns the CTE `rows_of_all`: staged rows, decisions about them (`owed` 1 where the ledger has to have a row for it) and rows
    of the ledger (`found` 1 for all but the cancel rows that it writes itself). `ledger_row` identifies the rows of a key in a batch
    by version, order_by and sign, because a stage that is a view may return other values today.
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
        coalesce(decision, 'none') as decision,
        ledger_delete as deletes
    from (select *, {{ collapsing._sql_is_delete(settings) }} as ledger_delete from {{ decided }})
    {%- if ledger %}
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
    from {{ ledger }}
    -- not the row that stands for an empty batch, which has no key
    where {{ adapter.quote(settings.key[0]) }} is not null
    {%- endif %}
)
{%- endmacro %}


{# Returns SQL that is true for a decided row that the ledger has to have a row for, other than a cancel row. #}
{% macro _leaves_a_row(settings) %}
    {% if collapsing._engine(settings).keeps_every_row and not settings.combine %}
        {{ return("decision not in ('unread', '" ~ collapsing._bad_row_reasons(settings) | join("', '") ~ "')") }}
    {% endif %}
    {% if collapsing._engine(settings).tombstones %}{{ return("decision in ('applied', 'orphan_delete')") }}{% endif %}
    {{ return("decision = 'applied' and not ledger_delete") }}
{% endmacro %}


{# Returns the CTE `tally`: the rows counted by key and block, by row, and by key and batch (`level`). #}
{% macro _tally() -%}
{%- set known = [
    'applied', 'duplicate', 'stale', 'superseded', 'tie', 'orphan_delete', 'null_key', 'null_version', 'bad_sign', 'null_block',
    'unread'
] -%}
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


{# Returns what a row of `judged` can break, each as SQL for the finding with its numbers, or for NULL. #}
{% macro _rules_of_complete(settings) %}
    {% set laws = [
        ["level = 'block' and staged <> decided", 'not_one_decision', 'staged', 'decided'],
        ["level = 'block' and ledger_unknown > 0", 'unknown_decision', '0', 'ledger_unknown']
    ] %}
    {% if settings.combine %}
        {#- the last event may have been a delete that leaves no tombstone -#}
        {% set applies_to = "level = 'batch' and is_compared" ~ (' and not deletes' if not collapsing._engine(settings).tombstones) %}
        {% set owed = 'least(owed, 1)' %}
    {% else %}
        {% set applies_to, owed = "level = 'row' and is_compared", 'owed' %}
    {% endif %}
    {% do laws.append([applies_to ~ ' and ' ~ owed ~ ' > found', 'missing_row', owed, 'found']) %}
    {% do laws.append([applies_to ~ ' and ' ~ owed ~ ' < found', 'surplus_row', owed, 'found']) %}
    {% if not collapsing._engine(settings).keeps_every_row %}
        {% set applies_to = "level = 'batch' and is_compared and " %}
        {% do laws.append([applies_to ~ 'applies and live <> states', 'wrong_live_rows', 'states', 'live']) %}
        {% do laws.append([applies_to ~ 'not applies and cancels > 0', 'cancel_without_event', '0', 'cancels']) %}
    {% endif %}
    {% set cases = [] %}
    {% for condition, finding, expected, actual in laws %}
        {% do cases.append(
            'if(' ~ condition ~ ", struct('" ~ finding ~ "', cast(" ~ expected ~ ' as bigint), cast(' ~ actual
            ~ ' as bigint)), null)'
        ) %}
    {% endfor %}
    {{ return(cases) }}
{% endmacro %}


{#
    Returns the CTEs `planned` (blocks that batches of the ledger have folded), `staged_blocks` (blocks that are staged) and `compared`: the
    batches of which every block is staged with as many rows as were folded, for of others a stage cannot tell what was decided.
    A base no longer has the rows that took each other back, and is not compared; nor is a batch that was taken back.
#}
{% macro _compared_batches(ledger, stage, batches, manifest, token) -%}
planned as (
    select
        block as ledger_block,
        staged,
        ledger_batch
    from {{ collapsing._beside(ledger, 'manifest') }}
    where
        {{ collapsing._sql_is_folded(batches, manifest.undone | map('last') | list) }}
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
    where
        planned.ledger_batch > 0
        {%- if manifest.voided %}
        and planned.ledger_batch not in ({{ manifest.voided | join(', ') }})
        {%- endif %}
    group by planned.ledger_batch
    having bool_and(planned.staged <=> staged_blocks.staged)
)
{%- endmacro %}


{# Returns a query of the findings among blocks. #}
{% macro _block_findings(rows, ledger, batches, manifest) -%}
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
        'block_not_in_manifest' as finding,
        null as ledger_key,
        stored.ledger_block,
        0 as expected,
        count(*) as actual
    from {{ collapsing._rows_not_in(rows, manifest.voided) }} as stored
    left anti join planned
        on
            stored.ledger_block = planned.ledger_block
            and (stored.ledger_batch = planned.ledger_batch or stored.ledger_batch < 0)
    -- a base may have rows of a block that was taken back since: those of signed rows that the undo made live again
    left anti join (
        select block as ledger_block
        from {{ collapsing._beside(ledger, 'manifest') }}
        where {{ collapsing._sql_is_folded(batches) }}
    ) as named
        on stored.ledger_block = named.ledger_block and stored.ledger_batch < 0
    where stored.ledger_block is not null
    group by stored.ledger_block
{%- endmacro %}
