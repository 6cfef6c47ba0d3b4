{% macro final(relation, as_of=none) %}
    {% if not execute %}
        {{ return(relation) }}
    {% endif %}
    {% set node = collapsing._model_of(relation) %}
    {% if as_of is not none and (as_of is not integer or as_of < 0) %}
        {{ collapsing._refuse(node.name if node else relation, "final's as_of must be a batch number; given: " ~ as_of) }}
    {% endif %}
    {% if collapsing._kind_of(node, 'final') == 'projection' %}
        {{ return(collapsing._final_of_projection(
            relation, collapsing._projection_settings(node.name, node.config.meta.collapsing), collapsing._types_of(relation), as_of
        )) }}
    {% endif %}
    {{ return(collapsing._final_of_ledger(
        relation, collapsing._ledger_settings(node.name, node.config.meta.collapsing), as_of
    )) }}
{% endmacro %}


{# Gives a subquery of the live rows: state rows that no later batch has cancelled. A batch holds at most one of a key. #}
{% macro _final_of_ledger(ledger, settings, as_of) %}
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


{# Gives a subquery of the merged groups: those that still have a live row. `types` as _types_of gives them. #}
{% macro _final_of_projection(projection, settings, types, as_of) %}
{%- set groups = settings.group_by.keys() | list -%}
(
    select
        {%- for group in groups %}
        {{ adapter.quote(group) }},
        {%- endfor %}
        {%- for measure in settings.measures %}
        {{ collapsing._merged_measure(projection, measure, types) }} as {{ adapter.quote(measure.name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ projection }}
    {%- if as_of is not none %}
    where ledger_batch <= {{ as_of }}
    {%- endif %}
    {%- if groups %}
    group by {{ collapsing._row_list(groups) }}
    {%- endif %}
    having sum(ledger_sign) <> 0
)
{%- endmacro %}
