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
    {% do collapsing._refuse_forgotten_batch(name, relation, as_of) if as_of and node is not none %}
    {% if collapsing._kind_of(node, 'final') == 'projection' %}
        {% do collapsing._refuse_partitions(name, 'a projection') if not across_partitions %}
        {{ return(collapsing._final_of_projection(
            relation, collapsing._projection_settings(node.name, node.config.meta.collapsing), collapsing._types_of(relation), as_of
        )) }}
    {% endif %}
    {% set settings = collapsing._ledger_settings(node.name, node.config.meta.collapsing) %}
    {% do collapsing._refuse_partitions(name, "a ledger without the setting 'partition_by'")
        if not across_partitions and not settings.partition_by %}
    {{ return(collapsing._final_of_ledger(relation, settings, as_of, across_partitions)) }}
{% endmacro %}


{# Stops because the state after a batch is asked for that is older than all that a ledger or projection holds. #}
{% macro _refuse_forgotten_batch(name, relation, as_of) %}
    {% set held = collapsing._batches_of(collapsing._named(relation)) %}
    {% if held and as_of < held.first %}
        {{ collapsing._refuse(
            name, 'final has no state as_of=' ~ as_of ~ ': ' ~ relation.identifier ~ ' was built later, and holds the batches '
            ~ held.first ~ ' to ' ~ held.last
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


{# Gives a subquery of the live rows of a ledger, as FINAL gives them in ClickHouse. #}
{% macro _final_of_ledger(ledger, settings, as_of=none, across_partitions=true) %}
    {% if not collapsing._keeps_every_row(settings) %}
        {{ return(collapsing._uncancelled_rows(ledger, settings, as_of)) }}
    {% endif %}
    {% set rows = collapsing._rows_until(ledger, as_of) %}
    {% if settings.engine == 'replacing' %}
        {% set left = collapsing._winning_rows(rows, settings, across_partitions) %}
    {% elif settings.engine == 'collapsing' %}
        {% set left = collapsing._uncollapsed_rows(rows, settings, states_only=true) %}
    {% else %}
        {% set left = collapsing._unpaired_rows(rows, settings) %}
    {% endif %}
    {{ return(
        '(\n    select * except (ledger_sign, ledger_block, ledger_place, ledger_batch)\n    from ' ~ left
        ~ ('\n    where ledger_sign = 1' if settings.engine == 'replacing') ~ '\n)'
    ) }}
{% endmacro %}


{#
    Gives a subquery of the rows that OPTIMIZE FINAL leaves of a ledger, system columns included: cancel rows of inconsistent
    histories and the deleted rows of replacing too, which FINAL may not show.
#}
{% macro _collapsed_rows(ledger, settings) %}
    {% if settings.engine == 'replacing' %}
        {{ return(collapsing._winning_rows(ledger, settings, across_partitions=false)) }}
    {% elif settings.engine == 'collapsing' %}
        {{ return(collapsing._uncollapsed_rows(ledger, settings, states_only=false)) }}
    {% endif %}
    {{ return(collapsing._unpaired_rows(ledger, settings)) }}
{% endmacro %}


{# Gives what can stand behind `from` for the rows of the batches up to `as_of`, or of all where it is none. #}
{% macro _rows_until(relation, as_of) %}
    {{ return(relation if as_of is none else '(select * from ' ~ relation ~ ' where ledger_batch <= ' ~ as_of ~ ')') }}
{% endmacro %}


{# Gives a subquery of state rows that no later batch has cancelled. A batch of events holds at most one of a key. #}
{% macro _uncancelled_rows(ledger, settings, as_of) %}
(
    select states.* except (ledger_sign, ledger_block, ledger_batch)
    from {{ collapsing._aliased(ledger, 'states') }}
    left anti join (
        select {{ collapsing._row_list(settings.key) }}, ledger_batch
        from {{ ledger }}
        where ledger_sign = -1{{ ' and ledger_batch <= ' ~ as_of if as_of is not none }}
    ) as cancels
        on {{ collapsing._same_key(settings.key, 'states', 'cancels') }} and cancels.ledger_batch > states.ledger_batch
    where states.ledger_sign = 1{{ ' and states.ledger_batch <= ' ~ as_of if as_of is not none }}
)
{%- endmacro %}
