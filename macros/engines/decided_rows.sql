{#
    Gives a subquery of every staged row with `decision`, or of a batch's decisions alone. The rows of each batch are put in the
    order in which they decide, beside what the ledger had seen of their key before that batch (struct `stored`); the same macros as
    in the fold say which one decides and whether it applies.

    held   as _batches_of gives it of the ledger
    notes  as _notes_of gives it
    batch  what _take_batch gives of a batch that is about to be appended: only its rows are decided, bad ones too; none for all
#}
{% macro _decided_rows(stage, ledger, settings, columns, held, notes, batch=none) %}
{%- set names = columns | map(attribute='name') | list -%}
{%- set looked_up = settings.block and held is not none and settings.input == 'events' -%}
(
with

{{ collapsing._taken_rows(stage, ledger, settings, columns, held, notes, batch) }},

-- rows that the engine has decided about
unread as (
    select * from taken where ledger_reason is null
),

{% if settings.deletes == 'unversioned' -%}
{{ collapsing._standing_events(settings.key + ['ledger_batch']) }},

{% endif -%}
{% if looked_up -%}
{{ collapsing._seen_before(ledger, settings, notes, batch) }},

{% endif -%}
{{ collapsing._ranked_rows(settings, columns) }},

decided as (
    select
        {%- if not batch %}
        {{ collapsing._select_list(names, of='arrived') }},
        {%- endif %}
        arrived.ledger_batch,
        {{ collapsing._decision(settings, columns, looked_up) }} as decision
    from arrived
    {%- if looked_up %}
    left join seen
        on {{ collapsing._same_key(settings.key, 'arrived', 'seen') }} and arrived.ledger_batch = seen.ledger_batch
    {%- endif %}
)

select * from decided
union all
select
    {%- if not batch %}
    {{ collapsing._select_list(names, indent=4) }},
    {%- endif %}
    ledger_batch,
    ledger_reason as decision
from taken
where ledger_reason is not null
)
{%- endmacro %}


{# Gives the CTE `taken`: every staged row with the batch that took it, and with a reason where no engine has decided about it. #}
{% macro _taken_rows(stage, ledger, settings, columns, held, notes, batch) -%}
{%- set block = adapter.quote(settings.block) if settings.block -%}
{%- set is_noted = settings.block and held and not batch -%}
-- every staged row with the batch that took it
taken as (
    select
        {{ collapsing._select_list(columns | map(attribute='name'), of='staged') }},
        {{ 'blocks.ledger_batch' if is_noted else 'cast(' ~ (batch.number if batch else 'null') ~ ' as int) as ledger_batch' }},
        {{ collapsing._is_delete(settings) }} as ledger_delete,
        {{ 'staged.' ~ block if settings.block else 'cast(null as string)' }} as ledger_arrival,
        coalesce(
            {{ collapsing._bad_reason(settings) }},
            {{ "if(blocks.ledger_batch is null, 'unread', null)" if is_noted else 'null' if held or batch else "'unread'" }}
        ) as ledger_reason
    from {{ collapsing._aliased(stage, 'staged') }}
    {%- if is_noted %}
    left join (
        select block as ledger_block, ledger_batch
        from {{ collapsing._blocks_relation(ledger) }}
        where
            {{ collapsing._is_folded(held, notes) }}
    ) as blocks
        on cast(staged.{{ block }} as string) = blocks.ledger_block
    {%- endif %}
    {%- if batch %}
    where {{ batch.unread }}
    {%- endif %}
)
{%- endmacro %}


{#
    Gives the CTE `seen`: by key and batch, the last that the ledger had seen of the key before that batch. Of a batch that is
    about to be appended it is looked up as cheaply as in the fold, see _touched_rows.
#}
{% macro _seen_before(ledger, settings, notes, batch) -%}
{%- set key = collapsing._row_list(settings.key, 'asked') -%}
{%- set newest = ['stored.ledger_batch', 'stored.ledger_sign'] -%}
{%- if settings.engine == 'replacing' -%}
{%- set newest = [collapsing._row_list(settings.version, 'stored')] * (settings.version | length > 0)
    + ['stored.ledger_batch', 'stored.ledger_place'] -%}
{%- endif -%}
-- what the ledger had seen of each key before each batch
seen as (
    select{{ ' /*+ broadcast(asked) */' if batch and batch.rows <= 1000000 }}
        {{ key }},
        asked.ledger_batch,
        max_by(struct(stored.*), struct({{ newest | join(', ') }})) as stored
    from (select distinct {{ collapsing._row_list(settings.key) }}, ledger_batch from unread) as asked
    inner join {{ ledger }} as stored
        on {{ collapsing._same_key(settings.key, 'asked', 'stored') }} and stored.ledger_batch < asked.ledger_batch
        {%- for pair in notes.undone %}
        and not (asked.ledger_batch > {{ pair[0] }} and stored.ledger_batch in ({{ pair | join(', ') }}))
        {%- endfor %}
    {%- if batch and batch.bounds %}
    where
        {{ batch.bounds }}
    {%- endif %}
    group by {{ key }}, asked.ledger_batch
)
{%- endmacro %}


{#
    Gives the CTE `arrived`: the decided rows with `ledger_rank`, 1 for those that could apply; `ledger_copy`, 1 for the first of
    equal rows; `ledger_has_upserts`, whether the batch upserts the key; and `ledger_winner`, the version that decided.
#}
{% macro _ranked_rows(settings, columns) -%}
{%- set batch = collapsing._row_list(settings.key) ~ ', ledger_batch' -%}
ranked as (
    select
        *,
        {{ collapsing._rank_in_batch(settings, columns, batch) }} as ledger_rank,
        bool_or(not ledger_delete) over (partition by {{ batch }}) as ledger_has_upserts,
        {%- if settings.version %}
        first_value(struct({{ collapsing._row_list(settings.version) }}, ledger_delete)) over (
            partition by {{ batch }} order by {{ collapsing._deciding_order(settings, columns) }}
        ) as ledger_winner
        {%- else %}
        cast(null as boolean) as ledger_winner
        {%- endif %}
    from {{ 'standing' if settings.deletes == 'unversioned' else 'unread' }}
),

arrived as (
    select
        *,
        row_number() over (
            partition by {{ collapsing._row_list(collapsing._content_columns(settings, columns)) }}, ledger_delete
            order by ledger_batch, if(ledger_rank = 1, 0, 1), {{ collapsing._arrival_order(settings, columns) }}
        ) as ledger_copy
    from ranked
)
{%- endmacro %}


{# Gives the columns by which a staged row is a copy of another: all but block token, order_by and what has no equality. #}
{% macro _content_columns(settings, columns) %}
    {% set of_arrival = settings.order_by | reject('in', settings.key + settings.version) | list %}
    {{ return(
        collapsing._comparable_columns(collapsing._kept_columns(columns, settings)) | reject('in', of_arrival) | list
    ) }}
{% endmacro %}


{# Gives SQL for a row's rank in its batch. With `combine` every row that follows the ones before it applies, and has rank 1. #}
{% macro _rank_in_batch(settings, columns, batch) %}
    {% set version = collapsing._row_list(settings.version) %}
    {% if not settings.combine %}
        {{ return(
            'row_number() over (partition by ' ~ batch ~ ' order by ' ~ collapsing._deciding_order(settings, columns) ~ ')'
        ) }}
    {% elif settings.engine != 'versioned_collapsing' %}
        {{ return('1') }}
    {% elif settings.deletes == 'unversioned' %}
        {{ return(
            'if(ledger_passed_over or not ledger_delete and struct(' ~ version ~ ') <= max('
            ~ 'if(ledger_passed_over or ledger_delete, null, struct(' ~ version ~ '))) over (partition by ' ~ batch
            ~ ' order by ledger_arrival, ' ~ version ~ ', ' ~ collapsing._arrival_order(settings, columns)
            ~ ' rows between unbounded preceding and 1 preceding), 2, 1)'
        ) }}
    {% endif %}
    {{ return(
        'row_number() over (partition by ' ~ batch ~ ', ' ~ version ~ ', ledger_delete order by '
        ~ collapsing._arrival_order(settings, columns) ~ ')'
    ) }}
{% endmacro %}


{# Gives SQL for the decision about a row of `arrived`, beside `stored` where a ledger was looked up. #}
{% macro _decision(settings, columns, looked_up) %}
    {% if settings.input == 'signed' %}
        {{ return("'applied'") }}
    {% endif %}
    {% set live = 'coalesce(stored.ledger_sign = 1, false)' if looked_up else 'false' %}
    {% set newer = collapsing._is_newer(settings, columns, looked_up) %}
    {% set is_copy = 'arrived.ledger_copy > 1' %}
    {% if looked_up and not settings.combine %}
        {% set is_copy = is_copy ~ ' or ' ~ collapsing._equals_stored(settings, columns) %}
    {% endif %}
    {% set cases = [
        'arrived.ledger_rank = 1 and (' ~ newer ~ ") then if(arrived.ledger_delete and not arrived.ledger_has_upserts and not "
        ~ live ~ ", 'orphan_delete', 'applied')",
        is_copy ~ " then 'duplicate'"
    ] %}
    {% if settings.deletes == 'unversioned' %}
        {% do cases.append("arrived.ledger_passed_over then 'superseded'") %}
    {% endif %}
    {% if settings.version and looked_up %}
        {% set arrived = collapsing._one_value(settings.version, 'arrived') %}
        {% set stored = collapsing._one_value(settings.version, 'stored') %}
        {% do cases.append(arrived ~ ' = ' ~ stored ~ ' and arrived.ledger_delete <> ' ~ live ~ " then 'tie'") %}
        {% do cases.append('not (' ~ newer ~ ") then 'stale'") %}
    {% endif %}
    {% if settings.version %}
        {% do cases.append(
            'struct(' ~ collapsing._row_list(settings.version, 'arrived') ~ ", arrived.ledger_delete) = arrived.ledger_winner then 'tie'"
        ) %}
    {% endif %}
    {% set otherwise = 'superseded' %}
    {% if settings.engine == 'deduplicating' %}
        {% set otherwise = 'duplicate' %}
    {% elif settings.combine and settings.engine == 'versioned_collapsing' and settings.deletes == 'versioned' %}
        {#- only a row of equal version keeps another from being combined -#}
        {% set otherwise = 'tie' %}
    {% endif %}
    {{ return(
        'case\n            when ' ~ cases | join('\n            when ') ~ "\n            else '" ~ otherwise ~ "'\n        end"
    ) }}
{% endmacro %}


{# Gives SQL that is true for a row that its key's stored row does not keep from applying. #}
{% macro _is_newer(settings, columns, looked_up) %}
    {% if not looked_up %}
        {{ return('true') }}
    {% elif settings.engine == 'deduplicating' %}
        {{ return('stored.ledger_sign is null') }}
    {% elif settings.engine == 'versioned_collapsing' and settings.deletes == 'unversioned' %}
        {{ return('arrived.ledger_delete or ' ~ collapsing._newest_event_applies(true, settings)) }}
    {% elif settings.engine == 'versioned_collapsing' %}
        {{ return(collapsing._newest_event_applies(true, settings)) }}
    {% endif %}
    {% set differs = 'not ' ~ collapsing._equals_stored(settings, columns) if not settings.combine else 'true' %}
    {% if settings.engine == 'collapsing' and not settings.combine %}
        {#- the fold takes a row at another position for another row -#}
        {% set differs = 'if(arrived.ledger_delete, ' ~ differs ~ ', '
            ~ collapsing._last_event_applies(true, settings, columns) ~ ')' %}
    {% endif %}
    {% if settings.version %}
        {% set differs = differs ~ ' and coalesce(' ~ collapsing._one_value(settings.version, 'arrived') ~ ' >= '
            ~ collapsing._one_value(settings.version, 'stored') ~ ', true)' %}
    {% endif %}
    {{ return('(arrived.ledger_delete and stored.ledger_sign is null) or ' ~ differs) }}
{% endmacro %}


{# Gives SQL that is true for a row that the ledger holds already as what its key is. #}
{% macro _equals_stored(settings, columns) %}
    {% set same = ['stored.ledger_sign is not null', 'arrived.ledger_delete = (stored.ledger_sign <> 1)'] %}
    {% for column in collapsing._content_columns(settings, columns) %}
        {% do same.append('arrived.' ~ adapter.quote(column) ~ ' <=> stored.' ~ adapter.quote(column)) %}
    {% endfor %}
    {{ return('(' ~ same | join(' and ') ~ ')') }}
{% endmacro %}
