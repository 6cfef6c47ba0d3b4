{# Returns the number of the batch that `as_of` stands for, a number or a timestamp. Raises an error unless it is there. #}
{% macro _state_asked_for(node, relation, as_of) %}
    {% set number = collapsing._batch_at(node, as_of) if as_of is string else as_of %}
    {% set ledger = collapsing._ledger_of(node) %}
    {% set table = adapter.get_relation(ledger.database, ledger.schema, ledger.alias) %}
    {#- none where it is not there, or the projection is that of another environment -#}
    {% set followed = collapsing._batches_of(table) if collapsing._kind_if_any(node) == 'projection' and table is not none
        and relation.schema == node.schema and load_relation(relation) is not none else none %}
    {% do collapsing._check_batch_is_there(node.name, relation, number, followed.last if followed) %}
    {% do collapsing._check_state_of_projection(node.name, relation, number, table, followed) if followed %}
    {{ return(number) }}
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
    Raises an error where a projection never had the state after the batch `as_of`: its batches are those that its runs ended with, and the
    ledger has rows that count in a batch between the last of these and `as_of`. The manifest tells even of batches that a base stands for.
#}
{% macro _check_state_of_projection(name, projection, as_of, ledger, followed) %}
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
