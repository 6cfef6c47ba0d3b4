{#
    Gives the rows that a projection appends for the ledger's batches (after, upto]: per group the net number of rows and,
    per measure, sums in which a cancel row counts against the state row that it takes back.

    ledger    relation of the ledger, or a subquery of its rows
    settings  as _projection_settings gives them
    types     Spark type of each measure's argument by measure name, as _argument_types gives them
    position  {after, upto}: batch numbers; with `after` none the whole ledger is read
#}
{% macro _project(ledger, settings, types, position) %}
{%- set groups = settings.group_by.keys() | list -%}
with

-- rows that count (tombstones do not) of the batches not read yet
changes as (
    select
        {%- for name, sql in settings.group_by.items() %}
        {{ sql }} as {{ adapter.quote(name) }},
        {%- endfor %}
        {%- for measure in settings.measures if measure.argument != '*' %}
        {{ measure.argument }} as {{ adapter.quote('ledger_value_' ~ measure.name) }},
        {%- endfor %}
        ledger_sign
    from {{ ledger }}
    where
        ledger_sign <> 0
        and {{ 'ledger_batch > ' ~ position.after ~ ' and ' if position.after is not none }}ledger_batch <= {{ position.upto }}
)

select
    {%- for group in groups %}
    {{ adapter.quote(group) }},
    {%- endfor %}
    {%- for measure in settings.measures %}
    {%- for part in collapsing._parts_of(measure, types) %}
    {{ part.sql }} as {{ adapter.quote(part.name) }},
    {%- endfor %}
    {%- endfor %}
    sum(ledger_sign) as ledger_sign,
    {{ position.upto }} as ledger_batch
from changes
{%- if groups %}
group by {{ collapsing._row_list(groups) }}
{%- else %}
having count(*) > 0
{%- endif %}
{% endmacro %}


{# Stops when what a projection is asked to read is not a ledger, or keeps no cancel rows. #}
{% macro _refuse_unprojectable(ledger) %}
    {% set node = collapsing._model_of(ledger) %}
    {% set kind = collapsing._kind_if_any(node) %}
    {% if kind != 'ledger' %}
        {{ collapsing._refuse(
            model.name,
            "a projection reads a ledger, a model whose settings say how its rows collapse; '" ~ ledger.identifier ~ "' is "
            ~ ('a projection' if kind == 'projection' else 'none')
        ) }}
    {% endif %}
    {% if collapsing._ledger_settings(node.name, node.config.meta.collapsing).engine == 'replacing' %}
        {{ collapsing._refuse(
            model.name,
            "the ledger '" ~ node.name ~ "' has the engine replacing: it has no cancel rows, so that a replaced row would count for"
            ~ ' ever. Give the ledger the engine versioned_collapsing (or collapsing, where there is no version), or aggregate'
            ~ " collapsing.final(ref('" ~ node.name ~ "')) in a model of your own"
        ) }}
    {% endif %}
{% endmacro %}
