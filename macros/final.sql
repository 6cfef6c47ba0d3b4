{% macro final(relation, as_of=none, across_partitions=true) %}
    {% if not execute %}
        {{ return(relation) }}
    {% endif %}
    {% do collapsing._check_relation('final', relation) %}
    {#- a view would be made without the columns and types of what dbt has not found -#}
    {% do collapsing._check_built(relation) if model is defined %}
    {% set node = collapsing._model_of(relation) %}
    {% set name = node.name if node else relation %}
    {% if as_of is not none and as_of is not string and (as_of is boolean or as_of is not integer or as_of < 0) %}
        {{ collapsing._raise(name, "final's as_of must be a batch number or a timestamp; given: " ~ as_of) }}
    {% endif %}
    {% if across_partitions is not boolean %}
        {{ collapsing._raise(name, "final's across_partitions must be true or false; given: " ~ across_partitions) }}
    {% endif %}
    {% set kind = collapsing._kind_of(node, 'final') %}
    {% do collapsing._check_final_of_shards(node, as_of) %}
    {% set as_of = collapsing._batch_at(node, as_of) if as_of is string else as_of %}
    {% if as_of is not none %}
        {% set followed = collapsing._batches_of_followed(node, relation) if kind == 'projection' else none %}
        {% do collapsing._check_batch_is_there(name, relation, as_of, followed.last if followed) %}
        {% do collapsing._check_state_of_projection(name, relation, as_of, node, followed) if followed %}
    {% endif %}
    {% set tables, parts = collapsing._tables_of(relation, node), [] %}
    {% if kind == 'projection' %}
        {% do collapsing._raise_partitions(name, 'a projection') if not across_partitions %}
        {% for table in tables %}
            {% do parts.append(collapsing._visible_rows(table, as_of)) %}
        {% endfor %}
        {{ return(collapsing._final_of_projection(
            relation, collapsing._projection_settings(node.name, node.config.meta.collapsing), collapsing._types_of(tables[0]),
            collapsing._all_of(parts, tables[0])
        )) }}
    {% endif %}
    {% set settings = collapsing._ledger_settings(node.name, node.config.meta.collapsing) %}
    {% do collapsing._raise_partitions(name, "a ledger without the setting 'partition_by'")
        if not across_partitions and not settings.partition_by %}
    {% for table in tables %}
        {% do parts.append(collapsing._final_of_table(table, settings, as_of, across_partitions)) %}
    {% endfor %}
    {{ return(collapsing._all_of(parts, tables[0], collapsing._system_columns())) }}
{% endmacro %}


{#
    Returns the number of the last batch that a ledger, or the ledger that a projection follows, had finished at a moment: text that
    Spark takes for a timestamp, in the session's time zone unless it names its own.
#}
{% macro _batch_at(node, moment) %}
    {% set ledger = collapsing._ledger_of(node) %}
    {% set history = collapsing._history_of(collapsing._built_relation(ledger)) %}
    {% set sql %}
        select
            any_value(asked) is null,
            any_value(asked) > now(),
            max(if(finished_at <= asked, batch, null)),
            max(batch),
            cast(min(finished_at) as string)
        from (select try_cast({{ collapsing._text_literal(moment) }} as timestamp_ltz) as asked)
        left join {{ history }} on true
    {% endset %}
    {% set row = collapsing._rows_of(sql)[0] %}
    {% if row[0] %}
        {{ collapsing._raise(node.name, "final's as_of must be a batch number or a timestamp; given: " ~ moment) }}
    {% elif row[1] %}
        {{ collapsing._raise(
            node.name, 'final has no state as_of=' ~ moment ~ ' yet: that is in the future, and the last batch is ' ~ (row[3] or 'none')
        ) }}
    {% elif row[2] is none %}
        {{ collapsing._raise(
            node.name, 'final has no state as_of=' ~ moment ~ ': '
            ~ ('the first batch had finished at ' ~ row[4] if row[4] else 'no batch has finished yet')
        ) }}
    {% endif %}
    {{ return(row[2]) }}
{% endmacro %}


{# Returns the graph's node of the ledger that a projection follows, directly or through another one; of a ledger itself. #}
{% macro _ledger_of(node) %}
    {% set sources = collapsing._sources_of(node) if collapsing._kind_if_any(node) == 'projection' else [] %}
    {{ return(collapsing._ledger_of(sources[0]) if sources else node) }}
{% endmacro %}


{#
    Returns a subquery of the rows of several, or the only one. `table` names their columns, but for `except`: the tables of two shards
    may have them in another order.
#}
{% macro _all_of(subqueries, table, except=[]) %}
    {% if subqueries | length == 1 %}
        {{ return(subqueries[0]) }}
    {% endif %}
    {% set columns = collapsing._describe(table).columns | map(attribute='name') | reject('in', except) | list %}
    {% set selects = [] %}
    {% for subquery in subqueries %}
        {% do selects.append('select ' ~ (collapsing._row_list(columns) or '*') ~ ' from ' ~ subquery) %}
    {% endfor %}
    {{ return('(\n    ' ~ selects | join('\n    union all\n    ') ~ '\n)') }}
{% endmacro %}


{#
    Returns a subquery of the live rows of a ledger's table, as FINAL shows them in ClickHouse, as they are or were after the batch
    `as_of`.
#}
{% macro _final_of_table(table, settings, as_of=none, across_partitions=true) %}
    {% set engine, columns = collapsing._engine(settings), collapsing._shown_columns(table) %}
    {% if not engine.keeps_every_row %}
        {{ return(
            '(\n    with ' ~ collapsing._ctes_of_visible(table, as_of) ~ '\n'
            ~ collapsing._uncancelled_rows('visible', 'later', settings, columns, is_bounded=collapsing._is_listed_by_scan(table)) ~ '\n)'
        ) }}
    {% endif %}
    {% set batches = collapsing._batches_of(collapsing._named(table)) %}
    {# a view that was made before the base gives the same, more slowly #}
    {% if batches and batches.base and not settings.partition_by %}
        {{ return(collapsing._final_upon_base(table, settings, columns, as_of)) }}
    {% endif %}
    {% set rows = collapsing._visible_rows(table, as_of) %}
    {{ return(
        '(\n    select ' ~ (collapsing._row_list(columns) or '*') ~ '\n    from '
        ~ (engine.final(rows, settings) if across_partitions else engine.final(rows, settings, across_partitions=false)) ~ '\n)'
    ) }}
{% endmacro %}


{# Returns the names of the columns that final shows of a ledger's table: all but the system columns; none before it is built. #}
{% macro _shown_columns(table) %}
    {% if load_relation(table) is none %}
        {{ return([]) }}
    {% endif %}
    {{ return(
        collapsing._describe(collapsing._named(table)).columns | map(attribute='name')
        | reject('in', collapsing._system_columns()) | list
    ) }}
{% endmacro %}


{#
    Raises an error: the requested state is older than any that the ledger or projection still has, or newer than `last`, the last batch of
    what a projection follows. The state 0, before the first batch, goes with the first one.
#}
{% macro _check_batch_is_there(name, relation, as_of, last=none) %}
    {% set batches = collapsing._batches_of(collapsing._named(relation)) %}
    {% if batches and as_of > (last or batches.last) %}
        {{ collapsing._raise(name, 'final has no state as_of=' ~ as_of ~ ' yet: the last batch is ' ~ (last or batches.last)) }}
    {% elif batches and as_of < batches.first and (as_of or batches.base or batches.first > 1) %}
        {{ collapsing._raise(
            name, 'final has no state as_of=' ~ as_of ~ ': ' ~ relation.identifier ~ ' was '
            ~ ('optimized or rebuilt' if batches.base else 'built') ~ ' later, and holds the states after batches ' ~ batches.first
            ~ ' to ' ~ batches.last
        ) }}
    {% endif %}
{% endmacro %}


{#
    Returns the batches of the ledger that a projection follows, as _batches_of does; none where it is not there, or the projection is that
    of another environment.
#}
{% macro _batches_of_followed(node, projection) %}
    {% set ledger = collapsing._ledger_of(node) %}
    {% set relation = adapter.get_relation(ledger.database, ledger.schema, ledger.alias) %}
    {% set is_here = relation is not none and projection.schema == node.schema and load_relation(projection) is not none %}
    {{ return(collapsing._batches_of(relation) if is_here else none) }}
{% endmacro %}


{#
    Raises an error where a projection never had the state after the batch `as_of`: its batches are those that its runs ended with, and the
    ledger has rows that count in a batch between the last of these and `as_of`. The manifest tells even of batches that a base stands for.
#}
{% macro _check_state_of_projection(name, projection, as_of, node, followed) %}
    {% set ledger = collapsing._built_relation(collapsing._ledger_of(node)) %}
    {% set own = collapsing._rows_of(
        'select coalesce(max(abs(ledger_batch)) filter (where abs(ledger_batch) <= ' ~ as_of ~ '), 0), '
        ~ 'min(abs(ledger_batch)) filter (where abs(ledger_batch) > ' ~ as_of ~ ') from ' ~ collapsing._named(projection)
    )[0] %}
    {% set between = ' > ' ~ own[0] ~ ' and %s <= ' ~ as_of ~ ' limit 1' %}
    {% set has_manifest = load_relation(collapsing._manifest_relation(ledger)) is not none %}
    {% set unread = 'select 1 from ' ~ collapsing._committed_manifest(ledger) ~ ' where states + cancels > 0 and planned_in'
        ~ between % 'planned_in' if has_manifest
        else 'select 1 from ' ~ ledger ~ ' where ledger_sign <> 0 and ledger_batch' ~ between % 'ledger_batch' %}
    {% if own[0] != as_of and ((followed.base > own[0] and not has_manifest) or collapsing._rows_of(unread)) %}
        {{ collapsing._raise(
            name, 'final has no state as_of=' ~ as_of ~ ': ' ~ projection.identifier ~ ' has read '
            ~ ('the batches after ' ~ own[0] ~ ' up to ' ~ own[1] ~ ' in one run' if own[1] else 'no batch after ' ~ own[0] ~ ' yet')
        ) }}
    {% endif %}
{% endmacro %}


{# Raises an error: across_partitions=false was given for something without partitions. #}
{% macro _raise_partitions(name, what) %}
    {{ collapsing._raise(
        name,
        'final(..., across_partitions=false) gives a winner for each partition of the engine replacing, by its setting '
        ~ "'partition_by'; this is " ~ what
    ) }}
{% endmacro %}


{#
    Returns what _final_of_table returns where there is a base: of a key that no later batch names, the base has what the engine's rule
    has left already, so that only the other keys are sorted.
#}
{% macro _final_upon_base(table, settings, columns, as_of) -%}
{%- set same_key, engine = collapsing._same_key(settings.key, 'base', 'later'), collapsing._engine(settings) -%}
(
    with {{ collapsing._ctes_upon_base(table, as_of) }}
    select {{ collapsing._row_list(columns, of='base') }}
    from base
    left anti join later on {{ same_key }}
    {%- if not engine.shows_cancel_rows %}
    where ledger_sign = 1
    {%- else %}
    where ledger_sign <> 0
    {%- endif %}
    union all
    select {{ collapsing._row_list(columns) }}
    from {{ engine.final('(select * from later union all select * from base left semi join later on ' ~ same_key ~ ')', settings) }}
)
{%- endmacro %}


{#
    Returns a query of the state rows of `rows` that none of `cancels` takes back, rows of a later batch among others. A batch of
    events holds at most one of a key. With is_bounded, `cancels` may have more batches than `rows`, whose columns say which count.
#}
{% macro _uncancelled_rows(rows, cancels, settings, columns=[], is_bounded=false) %}
    select {{ collapsing._row_list(columns, of='states') or 'states.*' }}
    from {{ rows }} as states
    left anti join (
        select {{ collapsing._row_list(settings.key) }}, ledger_batch
        from {{ cancels }}
        where ledger_sign = -1
    ) as cancels
        on {{ collapsing._same_key(settings.key, 'states', 'cancels') }} and cancels.ledger_batch > states.ledger_batch
        {%- if is_bounded %}
        and cancels.ledger_batch > -states.ledger_base and cancels.ledger_batch <= states.ledger_newest
        {%- endif %}
    where states.ledger_sign = 1
{%- endmacro %}
