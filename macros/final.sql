{% macro final(relation, as_of=none, across_partitions=true) %}
    {% if not collapsing._knows_models() %}{{ return(relation) }}{% endif %}
    {% do collapsing._check_relation('final', relation) %}
    {% set node = collapsing._model_of(relation) %}
    {% set kind = collapsing._kind_of(node, 'final') %}
    {% set settings = collapsing._projection_settings(node) if kind == 'projection' else collapsing._ledger_settings(node) %}
    {% if as_of is not none and (kind == 'projection' or as_of is not integer or as_of < 0) %}
        {% do collapsing._raise(
            node.name, "final's as_of must be the number of a batch, and what is read a ledger; given: " ~ collapsing._shown(as_of)
            ~ (' of a projection: aggregate final(..., as_of) of its ledger' if kind == 'projection')
        ) %}
    {% endif %}
    {% if across_partitions is not boolean or not (across_partitions or settings.partition_by) %}
        {% do collapsing._raise(
            node.name, "final's across_partitions must be true or, of a ledger with the setting 'partition_by', false: then each partition has"
            ~ ' a winner; given: ' ~ collapsing._shown(across_partitions)
        ) %}
    {% endif %}
    {% set table = collapsing._table(relation) %}
    {% if kind == 'projection' %}
        {% set types = collapsing._types_among(table.columns if table else []) %}
        {{ return(collapsing._final_of_projection(relation, settings, types, collapsing._visible_rows(relation))) }}
    {% endif %}
    {% if as_of is not none and table and not flags.EMPTY %}
        {% do collapsing._check_has_state(node.name, table, as_of) %}
    {% endif %}
    {{ return(collapsing._live_rows(relation, table, settings, as_of, across_partitions)) }}
{% endmacro %}


{# Raises an error unless a ledger has the state after the batch `as_of`. #}
{% macro _check_has_state(model_name, table, as_of) %}
    {% if as_of > table.last %}
        {% do collapsing._raise(
            model_name, 'final has no state as_of=' ~ as_of ~ ' yet: the last batch is ' ~ (table.last or 'none')
        ) %}
    {% elif as_of < (table.compacted or 0) %}
        {% do collapsing._raise(
            model_name, 'final has no state as_of=' ~ as_of ~ ': ' ~ table.relation.identifier
            ~ ' was optimized or rebuilt later, and holds the states after batches ' ~ table.compacted ~ ' to ' ~ table.last
        ) %}
    {% endif %}
{% endmacro %}


{#
    Returns a subquery of the live rows of a ledger, as FINAL in ClickHouse shows them: now, or after the batch `as_of`.
    `table` is its handle, or none.
#}
{% macro _live_rows(ledger, table, settings, as_of, across_partitions) %}
{%- set engine, own = collapsing._engine(settings), collapsing._system_columns() -%}
{%- set columns = table.columns | map(attribute='name') | reject('in', own) | list if table else [] -%}
{%- set newest = '(select coalesce(max(ledger_batch), 0) from ' ~ collapsing._plain(ledger) ~ ' where ledger_batch > 0)' -%}
(
    {%- if engine.keeps_every_row %}
    {%- set of_winner = dict(settings, partition_by=[]) if across_partitions else settings %}
    select {{ collapsing._column_list(columns) or '*' }}
    from {{ engine.collapsed(collapsing._visible_rows(ledger, as_of), of_winner) }}
    {%- if not engine.shows_cancel_rows %}
    where ledger_sign = 1
    {%- endif %}
    {%- else %}
    with visible as (
        select
            *,
            {{ newest if as_of is none else as_of }} as ledger_newest
        from {{ collapsing._visible_rows(ledger, as_of) | indent(8) }}
    ),

    later as (
        select *
        from {{ ledger }}
        where ledger_batch > 0
    )

    {{ collapsing._uncancelled_rows('visible', 'later', settings, columns, collapsing._compacted_of(ledger)) }}
    {%- endif %}
)
{%- endmacro %}


{#
    Returns a query of the state rows of `states` for which no later batch in `cancels` has a cancel row. Each of the two lists
    its batches by itself, and must not act on one that the other has not seen: ledger_newest, a column of `states`, bounds
    both. `compacted` is SQL for c: no cancel row below it has to be read. Spark finds it before that of `states`, so it is not
    the greater one.
#}
{% macro _uncancelled_rows(states, cancels, settings, columns, compacted=0) -%}
select {{ collapsing._column_list(columns, of='states') or 'states.*' }}
    from {{ states }} as states
    left anti join {{ cancels }} as cancels
        on
            {{ collapsing._same_key(settings.key, 'states', 'cancels') }}
            and cancels.ledger_sign = -1
            and cancels.ledger_batch > abs(states.ledger_batch)
            and cancels.ledger_batch <= states.ledger_newest
            and cancels.ledger_batch > {{ compacted }}
    where states.ledger_sign = 1 and states.ledger_batch <= states.ledger_newest
{%- endmacro %}
