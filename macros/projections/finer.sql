{#
    Gives {name, group_by, measures} of the projection that another one reads, or none where it reads a ledger. Stops when it
    reads neither, or a ledger that keeps no cancel rows.
#}
{% macro _finer_of(source) %}
    {% set node = collapsing._model_of(source) %}
    {% set kind = collapsing._kind_if_any(node) %}
    {% if kind is none %}
        {{ collapsing._refuse(
            model.name,
            "a projection reads a ledger, a model whose settings say how its rows collapse, or another projection; '"
            ~ source.identifier ~ "' is none"
        ) }}
    {% elif kind == 'projection' %}
        {% set settings = collapsing._projection_settings(node.name, node.config.meta.collapsing) %}
        {{ return({'name': node.name, 'group_by': settings.group_by, 'measures': settings.measures}) }}
    {% endif %}
    {% if collapsing._ledger_settings(node.name, node.config.meta.collapsing).engine == 'replacing' %}
        {{ collapsing._refuse(
            model.name,
            "the ledger '" ~ node.name ~ "' has the engine replacing: it has no cancel rows, so that a replaced row would count for"
            ~ ' ever. Give the ledger the engine versioned_collapsing (or collapsing, where there is no version), or aggregate'
            ~ " collapsing.final(ref('" ~ node.name ~ "')) in a model of your own"
        ) }}
    {% endif %}
    {{ return(none) }}
{% endmacro %}


{# Gives the CTE `added`: what each row of a projection adds to the parts of a coarser one. #}
{% macro _added_by_groups(finer, settings, measures, read) -%}
-- rows of the batches not read yet: each adds its parts
added as (
    select
        {%- for name, sql in settings.group_by.items() %}
        {{ sql }} as {{ adapter.quote(name) }},
        {%- endfor %}
        {{- collapsing._added_parts(measures) }}
        ledger_sign
    from {{ finer }}
    where {{ read }}
)
{%- endmacro %}


{#
    Gives what a row of a finer projection adds to the parts of a measure, in the form of _added_by_row. A count is never NULL:
    its sum is over as many rows as the group has.
#}
{% macro _added_by_part(measure, finer, types) %}
    {% set of = collapsing._finer_measure(measure, finer) %}
    {% set count, sum = 'ledger_count_' ~ measure.name, 'ledger_sum_' ~ measure.name %}
    {% if of.function == 'count' %}
        {% set counted = 'ledger_sign' if of.argument == '*' else adapter.quote('ledger_count_' ~ of.name) %}
        {{ return([
            {'name': count, 'added': 'ledger_sign'},
            {'name': sum, 'added': 'cast(' ~ counted ~ ' as decimal(20, 0))', 'dtype': 'decimal(30,0)'}
        ]) }}
    {% elif of.function != 'sum' %}
        {% set kept = collapsing._value_measures(finer.measures) | selectattr('argument', 'equalto', of.argument) | first %}
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


{# Gives the measure of a finer projection that a coarser one's measure adds up; stops where the groups do not give it. #}
{% macro _finer_measure(measure, finer) %}
    {% set allowed = {'sum': ['count', 'sum'], 'min': ['min'], 'max': ['max']} %}
    {% set found = finer.measures | selectattr('name', 'equalto', measure.argument.strip('`')) | list %}
    {% if not found or found[0].function not in allowed.get(measure.function, []) %}
        {% set there = [] %}
        {% for of in finer.measures %}
            {% do there.append(of.name ~ ': ' ~ of.aggregate) %}
        {% endfor %}
        {{ collapsing._refuse(
            model.name,
            "measure '" ~ measure.name ~ "': " ~ measure.aggregate ~ " cannot be had from what '" ~ finer.name
            ~ "' keeps. '" ~ finer.name ~ "' is a projection: of its measures (" ~ there | join('; ') ~ ') allowed are sum(m) of a'
            ~ ' count or a sum, min(m) of a min and max(m) of a max. Means and distinct counts of groups do not add up, and its rows'
            ~ ' are not the ledger' ~ "'s; take other measures from the ledger"
        ) }}
    {% endif %}
    {{ return(found[0]) }}
{% endmacro %}
