{#
    Merges the oldest parts of a projection into a base: one row for each group, and one for each value that is kept, with what the
    batches add up to. The newest `keep_batches` stay as they are, for as_of.
#}
{% macro _optimize_projection(node, projection, keep_batches) %}
    {% set held = collapsing._batches_of(projection) %}
    {% do collapsing._drop_covered(projection, held) %}
    {% set upto = collapsing._read_by_all(node, projection, held.last - keep_batches) if held else 0 %}
    {% if not held or upto <= held.base %}
        {% do collapsing._say(node.name, 'there is nothing to merge') %}
    {% else %}
        {% do collapsing._write_base(node, projection, held, upto, collapsing._base_parts(projection, held, upto)) %}
    {% endif %}
{% endmacro %}


{# Gives the rows of a projection's base. What adds up to nothing is left out, and with it what floats have left behind. #}
{% macro _base_parts(projection, held, upto) %}
{%- set merged, kept, counts = [], [], [] -%}
{%- for column in adapter.get_columns_in_relation(projection) -%}
    {%- set name = adapter.quote(column.name) -%}
    {%- if column.name == 'ledger_batch' -%}
        {%- do merged.append(-upto ~ ' as ledger_batch') -%}
    {%- elif column.name == 'ledger_part' or column.name.startswith('ledger_value_') or not column.name.startswith('ledger_') -%}
        {%- do merged.append(name) -%}
        {%- do kept.append(column.name) -%}
    {%- else -%}
        {%- do merged.append(collapsing._sum_of_parts(projection, column.name, column.dtype) ~ ' as ' ~ name) -%}
        {%- do counts.append('coalesce(sum(' ~ name ~ '), 0) <> 0') if not column.name.startswith('ledger_sum_') -%}
    {%- endif -%}
{%- endfor -%}
select /*+ coalesce(1) */
    {{ merged | join(',\n    ') }}
from {{ projection }}
where
    (ledger_batch = {{ -held.base }} or ledger_batch > {{ held.base }})
    and ledger_batch <= {{ upto }}
{%- if kept %}
group by {{ collapsing._row_list(kept) }}
{%- endif %}
having
    {{ counts | join('\n    or ') }}
{% endmacro %}


{#
    Runs after a projection's insert: merges its parts when there are more than 16, all but the newest 8, so that reading it
    does not grow with its age and the newest states can still be asked for.
#}
{% macro _merge_many_parts(projection) %}
    {% set held = collapsing._batches_of(projection) %}
    {% if held and held.later | length > 16 %}
        {% set node = collapsing._model_of(projection) %}
        {% set upto = collapsing._read_by_all(node, projection, held.later[-9]) %}
        {% if upto > held.base %}
            {% do collapsing._drop_covered(projection, held) %}
            {% do collapsing._write_base(node, projection, held, upto, collapsing._base_parts(projection, held, upto)) %}
        {% endif %}
    {% endif %}
{% endmacro %}
