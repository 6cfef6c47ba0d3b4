{#
    Returns {name, group_by, measures} of the projection that a rollup reads, or none for a projection of a ledger. Raises an error
    when it reads neither, or a ledger without cancel rows, or a measure that the other projection does not have.
#}
{% macro _source_projection(source, settings) %}
    {% set node = collapsing._model_of(source) %}
    {% set kind = collapsing._kind_if_any(node) %}
    {% if kind is none %}
        {{ collapsing._raise(
            model.name,
            "a projection reads a ledger (a model whose settings say how its rows collapse) or another projection; '"
            ~ source.identifier ~ "' is neither"
        ) }}
    {% elif kind == 'projection' %}
        {% set source_projection = dict(collapsing._projection_settings(node), name=node.name) %}
        {% for measure in collapsing._aggregates(settings.measures) %}
            {% do collapsing._source_measure(measure, source_projection) %}
        {% endfor %}
        {{ return(source_projection) }}
    {% endif %}
    {% set ledger_settings = collapsing._ledger_settings(node) %}
    {% if not collapsing._engine(ledger_settings).adds_up %}
        {{ collapsing._raise(
            model.name,
            "the ledger '" ~ node.name ~ "' has the engine " ~ ledger_settings.engine ~ ": it has no cancel rows, so that a replaced row would count for"
            ~ ' ever. Give the ledger the engine versioned_collapsing (or collapsing, where there is no version), or aggregate'
            ~ " collapsing.final(ref('" ~ node.name ~ "')) in a model of your own"
        ) }}
    {% endif %}
    {{ return(none) }}
{% endmacro %}


{# Returns the CTE `added`: what each row of a projection adds to the partials of a rollup. #}
{% macro _added_by_groups(source_projection, settings, measures, read) -%}
-- rows of the batches not read yet: each adds its partials
added as (
    select
        {%- for name, sql in settings.group_by.items() %}
        {{ sql }} as {{ adapter.quote(name) }},
        {%- endfor %}
        {{- collapsing._added_partials(measures) }}
        ledger_sign
    from {{ source_projection }}
    where {{ read }}
)
{%- endmacro %}


{#
    Returns what a row of a source projection adds to the partials of a measure, in the form of _added_by_row. A count is never NULL:
    its sum is over as many rows as the group has.
#}
{% macro _added_by_partial(measure, source_projection, types) %}
    {% set of = collapsing._source_measure(measure, source_projection) %}
    {% set count, sum = 'ledger_count_' ~ measure.name, 'ledger_sum_' ~ measure.name %}
    {% if of.function == 'count' %}
        {% set counted = 'ledger_sign' if of.argument == '*' else adapter.quote('ledger_count_' ~ of.name) %}
        {{ return([
            {'name': count, 'added': 'ledger_sign'},
            {'name': sum, 'added': 'cast(' ~ counted ~ ' as decimal(20, 0))', 'dtype': 'decimal(30,0)'}
        ]) }}
    {% elif of.function != 'sum' %}
        {% set values = collapsing._value_measures(source_projection.measures) %}
        {% set kept = values | selectattr('argument', 'equalto', of.argument) | first %}
        {{ return([
            {'name': 'ledger_value_' ~ measure.name, 'added': adapter.quote('ledger_value_' ~ kept.name)},
            {'name': count, 'added': adapter.quote('ledger_count_' ~ kept.name)}
        ]) }}
    {% endif %}
    {% set dtype = types.get('ledger_sum_' ~ of.name, 'unknown') %}
    {% set parts = [
        {'name': count, 'added': adapter.quote('ledger_count_' ~ of.name)},
        {'name': sum, 'added': adapter.quote('ledger_sum_' ~ of.name), 'dtype': dtype}
    ] %}
    {% for name in collapsing._not_finite() if dtype == 'double' %}
        {% do parts.append({'name': name ~ measure.name, 'added': adapter.quote(name ~ of.name)}) %}
    {% endfor %}
    {{ return(parts) }}
{% endmacro %}


{# Returns the measure of a source projection that a rollup's measure adds up. Raises an error if groups cannot give it. #}
{% macro _source_measure(measure, source_projection) %}
    {% set allowed = {'sum': ['count', 'sum'], 'min': ['min'], 'max': ['max'], 'min_by': ['min_by'], 'max_by': ['max_by']} %}
    {% set name = (measure.of[0] if measure.of else measure.argument).strip('`') %}
    {% set found = source_projection.measures | selectattr('name', 'equalto', name) | list %}
    {% if not found or found[0].function not in allowed.get(measure.function, [])
        or (measure.of and not collapsing._is_ordered_alike(measure, found[0], source_projection)) %}
        {% set there = [] %}
        {% for of in source_projection.measures %}
            {% do there.append(of.name ~ ': ' ~ of.aggregate) %}
        {% endfor %}
        {{ collapsing._raise(
            model.name,
            "measure '" ~ measure.name ~ "': " ~ measure.aggregate ~ " cannot be had from what '" ~ source_projection.name
            ~ "' keeps. '" ~ source_projection.name ~ "' is a projection: of its measures (" ~ there | join('; ') ~ ') allowed are sum(m) of a'
            ~ ' count or a sum, min(m) of a min, max(m) of a max, and max_by(m, n) of a max_by(x, y) and a max(y), min_by(m, n) likewise. Means,'
            ~ ' quotients and distinct counts of groups do not add up, and its rows are not the ledger' ~ "'s; take other measures from the ledger"
        ) }}
    {% endif %}
    {{ return(found[0]) }}
{% endmacro %}


{# Returns whether a rollup's max_by(m, n), or min_by, follows from m: n is the max, or min, of what m was ordered by. #}
{% macro _is_ordered_alike(measure, of, source_projection) %}
    {% for ordered in source_projection.measures if ordered.name == measure.by.strip('`') %}
        {{ return(ordered.function == measure.function.removesuffix('_by') and ordered.argument.strip('`') == of.by.strip('`')) }}
    {% endfor %}
    {{ return(false) }}
{% endmacro %}
