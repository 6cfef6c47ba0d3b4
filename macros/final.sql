{% macro final(relation, as_of=none, across_partitions=true) %}
    {% if not collapsing._knows_models() %}{{ return(relation) }}{% endif %}
    {% do collapsing._check_relation('final', relation) %}
    {% set node = collapsing._model_of(relation) %}
    {% set kind = collapsing._kind_of(node, 'final') %}
    {% if as_of is not none and kind == 'projection' %}
        {% do collapsing._raise(
            node.name, "final's as_of is for ledgers; this is a projection: aggregate final(..., as_of) of the ledger that it reads"
        ) %}
    {% endif %}
    {% if as_of is not none and (as_of is not integer or as_of < 0) %}
        {% do collapsing._raise(node.name, "final's as_of must be a batch number; given: " ~ collapsing._shown(as_of)) %}
    {% endif %}
    {% if across_partitions is not boolean %}
        {% do collapsing._raise(node.name, "final's across_partitions must be true or false; given: " ~ across_partitions) %}
    {% endif %}
    {% set settings = collapsing._projection_settings(node) if kind == 'projection' else collapsing._ledger_settings(node) %}
    {% if not across_partitions and not settings.partition_by %}
        {% do collapsing._raise(
            node.name, 'final(..., across_partitions=false) gives a winner for each partition of the engine replacing, by its setting '
            ~ "'partition_by'; this is " ~ ('a projection' if kind == 'projection' else "a ledger without the setting 'partition_by'")
        ) %}
    {% endif %}
    {% if kind == 'projection' %}
        {% set described = collapsing._describe_if_any(relation) %}
        {% set built = collapsing._property_in(described, 'collapsing.projection') or {} %}
        {% do collapsing._check_built_as_set(node, relation, built, settings) %}
        {{ return(collapsing._final_of_projection(
            relation, settings, collapsing._types_among(described.columns), collapsing._visible_rows(relation)
        )) }}
    {% endif %}
    {% if as_of is not none %}{% do collapsing._check_has_state(node.name, relation, as_of) %}{% endif %}
    {{ return(collapsing._final_of_table(relation, settings, as_of, across_partitions)) }}
{% endmacro %}


{# Returns a subquery of the live rows of a ledger's table, as FINAL in ClickHouse shows them: now, or after the batch `as_of`. #}
{% macro _final_of_table(table, settings, as_of=none, across_partitions=true) %}
    {% set engine = collapsing._engine(settings) %}
    {% set described = collapsing._describe_if_any(table) %}
    {% do collapsing._check_read_by_its_rules(described, settings) %}
    {% set columns = described.columns | map(attribute='name') | reject('in', collapsing._system_columns()) | list %}
    {% if not engine.keeps_every_row %}
        {{ return(
            '(\n    with ' ~ collapsing._ctes_of_visible(table, as_of) ~ '\n'
            ~ collapsing._uncancelled_rows('visible', 'later', settings, columns, is_bounded=collapsing._is_listed_by_scan(table)) ~ '\n)'
        ) }}
    {% endif %}
    {% set batches = collapsing._batches_of(collapsing._plain(table)) %}
    {#- a view that was made before the base gives the same, more slowly -#}
    {% if batches and batches.base and not settings.partition_by %}
        {{ return(collapsing._final_upon_base(table, settings, columns, as_of)) }}
    {% endif %}
    {% set of_winner = settings if across_partitions else dict(settings, key=settings.key + settings.partition_by) %}
    {% set live = engine.final(collapsing._visible_rows(table, as_of), of_winner) %}
    {{ return('(\n    select ' ~ (collapsing._column_list(columns) or '*') ~ '\n    from ' ~ live ~ '\n)') }}
{% endmacro %}


{#
    Returns what _final_of_table returns where there is a base: of a key that no later batch names, the base has what the engine's rule
    has left already, so that only the other keys are sorted.
#}
{% macro _final_upon_base(table, settings, columns, as_of) -%}
{%- set same_key, engine = collapsing._same_key(settings.key, 'base', 'later'), collapsing._engine(settings) -%}
(
    with {{ collapsing._ctes_upon_base(table, as_of) }}
    select {{ collapsing._column_list(columns, of='base') }}
    from base
    left anti join later on {{ same_key }}
    where ledger_sign {{ '<> 0' if engine.shows_cancel_rows else '= 1' }}
    union all
    select {{ collapsing._column_list(columns) }}
    from {{ engine.final('(select * from later union all select * from base left semi join later on ' ~ same_key ~ ')', settings) }}
)
{%- endmacro %}


{#
    Returns a query of the state rows of `rows` that none of `cancels` takes back, rows of a later batch among others. A batch of
    events holds at most one of a key. With is_bounded, `cancels` may have more batches than `rows`, whose columns say which count.
#}
{% macro _uncancelled_rows(rows, cancels, settings, columns=[], is_bounded=false) %}
    select {{ collapsing._column_list(columns, of='states') or 'states.*' }}
    from {{ rows }} as states
    left anti join (
        select {{ collapsing._column_list(settings.key) }}, ledger_batch
        from {{ cancels }}
        where ledger_sign = -1
    ) as cancels
        on {{ collapsing._same_key(settings.key, 'states', 'cancels') }} and cancels.ledger_batch > states.ledger_batch
        {%- if is_bounded %}
        and cancels.ledger_batch > -states.ledger_base and cancels.ledger_batch <= states.ledger_newest
        {%- endif %}
    where states.ledger_sign = 1
{%- endmacro %}


{# Raises an error unless a ledger has the state after the batch `as_of`. #}
{% macro _check_has_state(model_name, ledger, as_of) %}
    {% set batches = collapsing._batches_of(collapsing._plain(ledger)) %}
    {% set last = collapsing._last_to_ask_for(ledger, batches) %}
    {% if last is not none and as_of > last %}
        {% do collapsing._raise(
            model_name, 'final has no state as_of=' ~ as_of ~ ' yet: the last batch is ' ~ (last or 'none')
        ) %}
    {% endif %}
    {#- the state 0, before the first batch, goes with the first one -#}
    {% if batches and as_of < batches.first and (as_of or batches.base or batches.first > 1) %}
        {% do collapsing._raise(
            model_name, 'final has no state as_of=' ~ as_of ~ ': ' ~ ledger.identifier ~ ' was '
            ~ ('optimized or rebuilt' if batches.base else 'built') ~ ' later, and holds the states after batches ' ~ batches.first
            ~ ' to ' ~ batches.last
        ) %}
    {% endif %}
{% endmacro %}
