{% macro final(relation, as_of=none, across_partitions=true) %}
    {% if not execute %}
        {{ return(relation) }}
    {% endif %}
    {% set node = collapsing._model_of(relation) %}
    {% set name = node.name if node else relation %}
    {% if as_of is not none and (as_of is not integer or as_of < 0) %}
        {{ collapsing._refuse(name, "final's as_of must be a batch number; given: " ~ as_of) }}
    {% endif %}
    {% if across_partitions is not boolean %}
        {{ collapsing._refuse(name, "final's across_partitions must be true or false; given: " ~ across_partitions) }}
    {% endif %}
    {% set kind = collapsing._kind_of(node, 'final') %}
    {% do collapsing._refuse_part_of_final(node, as_of) %}
    {% do collapsing._refuse_forgotten_batch(name, relation, as_of) if as_of %}
    {% set tables, parts = collapsing._tables_of(relation, node), [] %}
    {% if kind == 'projection' %}
        {% do collapsing._refuse_partitions(name, 'a projection') if not across_partitions %}
        {% for table in tables %}
            {% do parts.append(collapsing._counted_rows(table, as_of)) %}
        {% endfor %}
        {{ return(collapsing._final_of_projection(
            relation, collapsing._projection_settings(node.name, node.config.meta.collapsing), collapsing._types_of(tables[0]),
            collapsing._all_of(parts, tables[0])
        )) }}
    {% endif %}
    {% set settings = collapsing._ledger_settings(node.name, node.config.meta.collapsing) %}
    {% do collapsing._refuse_partitions(name, "a ledger without the setting 'partition_by'")
        if not across_partitions and not settings.partition_by %}
    {% for table in tables %}
        {% do parts.append(collapsing._final_of_table(table, settings, as_of, across_partitions)) %}
    {% endfor %}
    {{ return(collapsing._all_of(parts, tables[0], ['ledger_sign', 'ledger_block', 'ledger_place', 'ledger_batch'])) }}
{% endmacro %}


{#
    Gives a subquery of the rows of several, or the only one. `table` names their columns, but for `except`: the tables of two shards
    may have them in another order.
#}
{% macro _all_of(subqueries, table, except=[]) %}
    {% if subqueries | length == 1 %}
        {{ return(subqueries[0]) }}
    {% endif %}
    {% set columns = adapter.get_columns_in_relation(table) | map(attribute='name') | reject('in', except) | list %}
    {% set selects = [] %}
    {% for subquery in subqueries %}
        {% do selects.append('select ' ~ (collapsing._row_list(columns) or '*') ~ ' from ' ~ subquery) %}
    {% endfor %}
    {{ return('(\n    ' ~ selects | join('\n    union all\n    ') ~ '\n)') }}
{% endmacro %}


{# Gives a subquery of the live rows of a ledger's table, as they are or were after the batch `as_of`. #}
{% macro _final_of_table(table, settings, as_of, across_partitions) %}
    {% if not collapsing._keeps_every_row(settings) %}
        {% set is_listed = collapsing._is_listed_by_scan(table) and as_of is none %}
        {% set upto = collapsing._last_of(table) if is_listed else as_of %}
        {{ return(collapsing._uncancelled_rows(collapsing._counted_rows(table, as_of), settings, table, upto)) }}
    {% endif %}
    {% set held = collapsing._batches_of(collapsing._named(table)) %}
    {% set base = held.base if held else 0 %}
    {% set rows = collapsing._counted_rows(table, as_of, bounded=collapsing._reads_twice(settings, base)) %}
    {{ return(collapsing._final_of_ledger(rows, settings, base, across_partitions)) }}
{% endmacro %}


{# Stops because the state after a batch is asked for that is older than all that a ledger or projection holds. #}
{% macro _refuse_forgotten_batch(name, relation, as_of) %}
    {% set held = collapsing._batches_of(collapsing._named(relation)) %}
    {% if held and as_of < held.first %}
        {{ collapsing._refuse(
            name, 'final has no state as_of=' ~ as_of ~ ': ' ~ relation.identifier ~ ' was '
            ~ ('optimized' if held.base else 'built') ~ ' later, and holds the states after batches ' ~ held.first ~ ' to ' ~ held.last
        ) }}
    {% endif %}
{% endmacro %}


{# Stops because a final is asked for by partitions that there are none of. #}
{% macro _refuse_partitions(name, what) %}
    {{ collapsing._refuse(
        name,
        'final(..., across_partitions=false) gives a winner for each partition of the engine replacing, by its setting '
        ~ "'partition_by'; this is " ~ what
    ) }}
{% endmacro %}


{#
    Gives a subquery of the live rows of a ledger, as FINAL gives them in ClickHouse.

    rows      the ledger's rows that count, as _counted_rows gives them
    settings  as _ledger_settings gives them
    base      whether the ledger had a base when this was written; the answer is the same without, only found more slowly
#}
{% macro _final_of_ledger(rows, settings, base=0, across_partitions=true) %}
    {% if not collapsing._keeps_every_row(settings) %}
        {{ return(collapsing._uncancelled_rows(rows, settings)) }}
    {% elif collapsing._reads_twice(settings, base) %}
        {{ return(collapsing._final_upon_base(rows, settings)) }}
    {% endif %}
    {{ return(
        '(\n    select * except (ledger_sign, ledger_block, ledger_place, ledger_batch)\n    from '
        ~ collapsing._shown_rows(rows, settings, across_partitions)
        ~ ('\n    where ledger_sign = 1' if settings.engine == 'replacing') ~ '\n)'
    ) }}
{% endmacro %}


{# Gives whether _final_of_ledger reads rows that are kept as they are more than once. #}
{% macro _reads_twice(settings, base) %}
    {{ return(base != 0 and not settings.partition_by) }}
{% endmacro %}


{# Gives a subquery of what the engine's rule leaves of rows that are kept as they are, system columns included. #}
{% macro _shown_rows(rows, settings, across_partitions=true) %}
    {% if settings.engine == 'replacing' %}
        {{ return(collapsing._winning_rows(rows, settings, across_partitions)) }}
    {% elif settings.engine == 'collapsing' %}
        {{ return(collapsing._uncollapsed_rows(rows, settings, states_only=true)) }}
    {% endif %}
    {{ return(collapsing._unpaired_rows(rows, settings)) }}
{% endmacro %}


{#
    Gives the same where there is a base: of a key that no later batch names, the base holds what the engine's rule has left
    already, so that only the other keys are sorted.
#}
{% macro _final_upon_base(rows, settings) -%}
{%- set later = '(select ' ~ collapsing._row_list(settings.key) ~ ' from ' ~ rows ~ ' where ledger_batch > 0) as later' -%}
{%- set same_key = collapsing._same_key(settings.key, 'base', 'later') -%}
{%- set shows_cancels = settings.engine == 'versioned_collapsing' -%}
(
    select * except (ledger_sign, ledger_block, ledger_place, ledger_batch)
    from {{ rows }} as base
    left anti join {{ later }} on {{ same_key }}
    where base.ledger_batch < 0{{ ' and base.ledger_sign = 1' if not shows_cancels }}
    union all
    select * except (ledger_sign, ledger_block, ledger_place, ledger_batch)
    from {{ collapsing._shown_rows(
        '(select * from ' ~ rows ~ ' where ledger_batch > 0 union all select base.* from ' ~ rows ~ ' as base left semi join '
        ~ later ~ ' on ' ~ same_key ~ ' where base.ledger_batch < 0)', settings
    ) }}
    {%- if not shows_cancels %}
    where ledger_sign = 1
    {%- endif %}
)
{%- endmacro %}


{#
    Gives a subquery of the rows that OPTIMIZE FINAL leaves of a ledger, system columns included: cancel rows of inconsistent
    histories and the deleted rows of replacing too, which FINAL may not show.
#}
{% macro _collapsed_rows(rows, settings) %}
    {% if settings.engine == 'replacing' %}
        {{ return(collapsing._winning_rows(rows, settings, across_partitions=false)) }}
    {% elif settings.engine == 'collapsing' %}
        {{ return(collapsing._uncollapsed_rows(rows, settings, states_only=false)) }}
    {% endif %}
    {{ return(collapsing._unpaired_rows(rows, settings)) }}
{% endmacro %}


{#
    Gives a subquery of state rows that no later batch has cancelled. A batch of events holds at most one of a key.

    rows   the ledger's rows that count, as _counted_rows gives them
    table  the ledger itself, where its cancel rows are read from; none for `rows`. What a base stands for may be there still: its
           cancel rows cancel nothing of the base
    upto   SQL for the last batch that counts, on plain parquet, whose two scans may not find the same batches; none for all. It
           stands here once: twice it could have two values
#}
{% macro _uncancelled_rows(rows, settings, table=none, upto=none) %}
(
    select states.* except (ledger_sign, ledger_block, ledger_batch{{ ', ledger_upto' if upto is not none }})
    from {{ rows if upto is none else '(select *, ' ~ upto ~ ' as ledger_upto from ' ~ rows ~ ')' }} as states
    left anti join (
        -- a base holds no cancel rows: its files are not opened
        select {{ collapsing._row_list(settings.key) }}, ledger_batch
        from {{ table or rows }}
        where ledger_sign = -1 and ledger_batch > 0
    ) as cancels
        on {{ collapsing._same_key(settings.key, 'states', 'cancels') }} and cancels.ledger_batch > abs(states.ledger_batch)
        {%- if upto is not none %}
        and cancels.ledger_batch <= states.ledger_upto
        {%- endif %}
    where
        states.ledger_sign = 1
        {%- if upto is not none %}
        and states.ledger_batch <= states.ledger_upto
        {%- endif %}
)
{%- endmacro %}
