{% macro final(relation, as_of=none, across_partitions=true) %}
    {% do return(relation) if not collapsing._knows_models() %}
    {% do collapsing._check_relation('final', relation) %}
    {#- a view would be made without the columns and types of what dbt has not found -#}
    {% do collapsing._check_built(relation) if model is defined %}
    {% set node = collapsing._model_of(relation) %}
    {% set name = node.name if node else relation %}
    {#- a Python date or datetime, such as run_started_at -#}
    {% set as_of = as_of | string if as_of.isoformat else as_of %}
    {{ collapsing._raise(name, "final's as_of must be a batch number or a timestamp; given: " ~ collapsing._shown(as_of))
        if as_of is not none and as_of is not string and (as_of is not integer or as_of < 0) }}
    {{ collapsing._raise(name, "final's across_partitions must be true or false; given: " ~ across_partitions)
        if across_partitions is not boolean }}
    {% set kind = collapsing._kind_of(node, 'final') %}
    {#- each shard has its own batches -#}
    {% do collapsing._check_one_shard(node) if as_of is not none %}
    {% do collapsing._check_reader_of_shards('final' if as_of is none else 'final(..., as_of)', node) %}
    {% set as_of = collapsing._state_asked_for(node, relation, as_of) if as_of is not none else none %}
    {% set tables, subqueries = collapsing._tables_of(relation, node), [] %}
    {% set settings = collapsing._projection_settings(node) if kind == 'projection' else collapsing._ledger_settings(node) %}
    {% set described = collapsing._check_tables(node, tables, settings) %}
    {{ collapsing._raise(
        name, 'final(..., across_partitions=false) gives a winner for each partition of the engine replacing, by its setting '
        ~ "'partition_by'; this is "
        ~ ('a projection' if kind == 'projection' else "a ledger without the setting 'partition_by'")
    ) if not across_partitions and not settings.partition_by }}
    {% for table in tables %}
        {% do subqueries.append(collapsing._visible_rows(table, as_of) if kind == 'projection'
            else collapsing._final_of_table(table, settings, as_of, across_partitions)) %}
    {% endfor %}
    {% do return(collapsing._union_of_shards(subqueries, tables, collapsing._system_columns())) if kind == 'ledger' %}
    {% set rows = collapsing._union_of_shards(subqueries, tables) %}
    {{ return(collapsing._final_of_projection(relation, settings, collapsing._types_among(described[0].columns), rows)) }}
{% endmacro %}


{#
    Returns a subquery of the rows of `subqueries`, one for each of `tables`, in the columns of all of them but `except`: shards may order
    them differently, and one that has not been run since may lack a new column.
#}
{% macro _union_of_shards(subqueries, tables, except=[]) %}
    {% do return(subqueries[0]) if subqueries | length == 1 %}
    {% set others, columns, selects = [], [], [] %}
    {% for table in tables[1:] %}
        {% do others.extend(collapsing._types_of(table) | map('lower')) %}
    {% endfor %}
    {% for name in collapsing._types_of(tables[0]) if name not in except and others.count(name | lower) == tables[1:] | length %}
        {% do columns.append(name) %}
    {% endfor %}
    {% for subquery in subqueries %}
        {% do selects.append('select ' ~ (collapsing._column_list(columns) or '*') ~ ' from ' ~ subquery) %}
    {% endfor %}
    {{ return('(\n    ' ~ selects | join('\n    union all\n    ') ~ '\n)') }}
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
    {% do return(collapsing._final_upon_base(table, settings, columns, as_of))
        if batches and batches.base and not settings.partition_by %}
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


{# Returns the number of the batch that `as_of` stands for, a number or a timestamp. Raises an error unless it is there. #}
{% macro _state_asked_for(node, relation, as_of) %}
    {% set ledger, is_deferred = collapsing._ledger_of(node), not collapsing._is_table_of(node, relation) %}
    {% set of_ledger = ledger.defer_relation if is_deferred else none %}
    {% set as_of = collapsing._batch_at(node, ledger, of_ledger, as_of) if as_of is string else as_of %}
    {% set table = collapsing._relation_if_any(ledger) %}
    {#- none where it is not there, or the projection is that of another environment -#}
    {% set followed = collapsing._batches_of(table) if collapsing._is_projection(node) and table is not none
        and not is_deferred and load_relation(relation) is not none else none %}
    {% set batches = collapsing._batches_of(collapsing._plain(relation)) %}
    {% set own = collapsing._last_to_ask_for(relation, batches) %}
    {% set last = followed.last if followed else own %}
    {{ collapsing._raise(node.name, 'final has no state as_of=' ~ as_of ~ ' yet: the last batch is ' ~ (last or 'none'))
        if own is not none and as_of > last }}
    {#- the state 0, before the first batch, goes with the first one -#}
    {{ collapsing._raise(
        node.name, 'final has no state as_of=' ~ as_of ~ ': ' ~ relation.identifier ~ ' was '
        ~ ('optimized or rebuilt' if batches.base else 'built') ~ ' later, and holds the states after batches ' ~ batches.first
        ~ ' to ' ~ batches.last
    ) if batches and as_of < batches.first and (as_of or batches.base or batches.first > 1) }}
    {% do collapsing._check_state_of_projection(node.name, relation, as_of, table, followed) if followed %}
    {{ return(as_of) }}
{% endmacro %}


{#
    Returns the number of the last batch that a ledger had finished at a moment: text that Spark takes for a timestamp, in the session's
    time zone unless it names its own. `deferred` is the ledger's table of another environment where that one is asked, with --defer.
#}
{% macro _batch_at(node, ledger, deferred, moment) %}
    {% set history = collapsing._history_of(
        api.Relation.create(deferred.database, deferred.schema, deferred.alias) if deferred else collapsing._built_relation(ledger)
    ) %}
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
    {{ collapsing._raise(node.name, "final's as_of must be a batch number or a timestamp; given: " ~ collapsing._shown(moment))
        if row[0] }}
    {{ collapsing._raise(
        node.name, 'final has no state as_of=' ~ moment ~ ' yet: that is in the future, and the last batch is ' ~ (row[3] or 'none')
    ) if row[1] }}
    {{ collapsing._raise(
        node.name, 'final has no state as_of=' ~ moment ~ ': '
        ~ ('the first batch had finished at ' ~ row[4] if row[4] else 'no batch has finished yet')
    ) if row[2] is none }}
    {{ return(row[2]) }}
{% endmacro %}


{#
    Raises an error where a projection never had the state after the batch `as_of`: its batches are those that its runs ended with, and the
    ledger has rows that count in a batch between the last of these and `as_of`. The manifest tells even of batches that a base stands for.
#}
{% macro _check_state_of_projection(name, projection, as_of, ledger, followed) %}
    {% set own = collapsing._rows_of(
        'select coalesce(max(abs(ledger_batch)) filter (where abs(ledger_batch) <= ' ~ as_of ~ '), 0), '
        ~ 'min(abs(ledger_batch)) filter (where abs(ledger_batch) > ' ~ as_of ~ ') from ' ~ collapsing._plain(projection)
    )[0] %}
    {% set between = ' > ' ~ own[0] ~ ' and %s <= ' ~ as_of ~ ' limit 1' %}
    {% set has_manifest = load_relation(collapsing._beside(ledger, 'manifest')) is not none %}
    {% set unread = 'select 1 from ' ~ collapsing._committed_manifest(ledger) ~ ' where states + cancels > 0 and planned_in'
        ~ between % 'planned_in' if has_manifest
        else 'select 1 from ' ~ ledger ~ ' where ledger_sign <> 0 and ledger_batch' ~ between % 'ledger_batch' %}
    {#- of a rebuild that has left no row at all nothing tells but its number -#}
    {% set is_rebuilt = own[1] is none and 0 < own[0] < followed.first %}
    {{ collapsing._raise(
        name, 'final has no state as_of=' ~ as_of ~ ': ' ~ projection.identifier ~ ' has read '
        ~ ('the batches after ' ~ own[0] ~ ' up to ' ~ own[1] ~ ' in one run' if own[1] else 'no batch after ' ~ own[0] ~ ' yet')
    ) if own[0] != as_of and (is_rebuilt or (followed.base > own[0] and not has_manifest) or collapsing._rows_of(unread)) }}
{% endmacro %}
